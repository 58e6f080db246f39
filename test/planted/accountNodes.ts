import { bug, type PlantedBug } from "./plantedBug.ts";

const POOL = "src/adapters/evmRpc/nodePool.ts";
const CHOICE = "src/adapters/evmRpc/headChoice.ts";
const LOOK = "src/adapters/evmRpc/chainLook.ts";
const EXCHANGE = "test/evm/exchangeNodes.test.ts";
const PRICES = "test/evm/gasPrices.test.ts";
const WALLET = "src/app/coin/evm/evmWallet.test.ts";
const WHICH = "test/evm/whichNodes.test.ts";

/** Which nodes of an account chain are believed, and when. */
export const ACCOUNT_NODES: readonly PlantedBug[] = [
  bug(
    "whoever silences the other nodes of an account chain decides alone",
    POOL,
    "return majority(this.#deps.nodes.length);",
    'return majority(this.#deps.nodes.filter((n) => n.state !== "away").length);',
    WHICH,
  ),
  bug(
    "a node that makes up its newest block keeps the others from those they have in common",
    CHOICE,
    "if (winner === undefined) continue;",
    "if (winner === undefined) break;",
    WHICH,
  ),
  bug(
    "a node that lies of what the newest block holds stops the coin until all have the block",
    LOOK,
    "head = await head.lower(signal);",
    "head = null;",
    WHICH,
  ),
  bug(
    "a view goes back to where one node stopped, though another goes on",
    LOOK,
    "if (isWaitedFor || chosen.heads.filter((height) => height < tip.height).length < quorum.need) {",
    "if (isWaitedFor) {",
    WHICH,
  ),
  bug(
    "two nodes outvote the third of three that have a block, where three of five must agree",
    "src/adapters/evmRpc/quorum.ts",
    "if (this.#lacking === 0) return need;",
    "",
    WHICH,
  ),
  bug(
    "calls over a WebSocket that nobody waits for any more keep their place for ever",
    "src/adapters/evmRpc/wsRpc.ts",
    "if (waited.aborted) return [];\n        if (!ready.ok)",
    "if (!ready.ok)",
    "test/evm/webSocket.test.ts",
  ),
  bug(
    "a node that turned one batch away is asked call by call for ever",
    "src/adapters/evmRpc/wsRpc.ts",
    "const ONE_BY_ONE_MS = 600_000;",
    "const ONE_BY_ONE_MS = Number.POSITIVE_INFINITY;",
    "test/evm/webSocket.test.ts",
  ),
  bug(
    "an account chain goes on following what others did of swaps that are over",
    "src/app/swap/txidsOn.ts",
    "received[slot], facts[slot]]);",
    "received[slot]]);",
    "src/app/swap/forgetSwap.test.ts",
  ),
  bug(
    "a node that contradicts the others of an account chain is named nowhere in the log",
    "src/adapters/evmRpc/evmNode.ts",
    'if (this.#contradictions === 0) this.#log.warn("node_contradicted", { node: this.name, what });',
    "",
    WHICH,
  ),
  bug(
    "the log names a node of an account chain at each of its lies",
    "src/adapters/evmRpc/evmNode.ts",
    "if (this.#contradictions === 0) this.#log",
    "this.#log",
    WHICH,
  ),
  bug(
    "nodes that are behind are shown as those that count",
    "src/app/coin/evm/nodesAsServers.ts",
    'lagging: "lagging"',
    'lagging: "connected"',
    "src/app/coin/evm/evmWallet.test.ts",
  ),
  bug(
    "the nodes of an account chain are counted once for each of its tokens",
    "src/main/nodeMetrics.ts",
    'coin.accountInfo()?.platform ?? ""',
    "`${coin.accountInfo()?.platform}${Math.random()}`",
    "src/main/nodeMetrics.test.ts",
  ),
  bug(
    "a node that answers within no time is asked first however often it lied",
    "src/adapters/evmRpc/evmNode.ts",
    "Math.max(1, this.#latencyMs ?? UNKNOWN_LATENCY_MS)",
    "(this.#latencyMs ?? UNKNOWN_LATENCY_MS)",
    WHICH,
  ),
  bug(
    "a question to nodes that are not used any more is answered by them",
    "src/adapters/evmRpc/evmRpcChain.ts",
    "[...parents, asked.left.signal]",
    "parents",
    EXCHANGE,
  ),
  bug(
    "until new nodes answer, what exchanged ones said passes for the present",
    "src/adapters/evmRpc/lookLoop.ts",
    "    this.#error = `The ${this.#deps.ticker} nodes were exchanged, and the new ones have not answered yet.`;\n",
    "",
    EXCHANGE,
  ),
  bug(
    "nodes that do not serve the chain take the place of those that do",
    "src/app/coin/evm/accountPool.ts",
    "if (failed !== null) return failed;",
    "",
    WALLET,
  ),
  bug(
    "what exchanged nodes said of a token is believed for ten minutes more",
    "src/app/coin/evm/accountPool.ts",
    "account.tokens.forget();",
    "",
    WALLET,
  ),
  bug(
    "a request for a token puts its nodes in the place of its platform coin's",
    "src/app/coin/evm/evmCoins.ts",
    "if (ticker !== platform.ticker || urls === undefined) return null;",
    "if (urls === undefined) return null;",
    WALLET,
  ),
  bug(
    "a token that stayed for a swap keeps its platform coin from being enabled again",
    "src/app/coin/tokensToOpen.ts",
    "else back.push(place);",
    'else return err({ kind: "TokenIsAlreadyActivated", ticker });',
    WALLET,
  ),
  bug(
    "of two nodes the one that names next to nothing says what gas costs",
    "src/adapters/evmRpc/gasReader.ts",
    "sorted[Math.floor(sorted.length / 2)]];",
    "sorted[Math.floor((sorted.length - 1) / 2)]];",
    PRICES,
  ),
  bug(
    "one of two nodes has any price of gas paid",
    "src/adapters/evmRpc/gasReader.ts",
    "return high < most ? high : most;",
    "return high;",
    PRICES,
  ),
  bug(
    "a swap that waits for a notarization its chain never has is begun",
    "src/core/order/swapConfs.ts",
    "if (needed === null || needed > windowSec) {",
    "if (needed !== null && needed > windowSec) {",
    "src/app/orders/ordersService.test.ts",
  ),
  bug(
    "a chain that was not seen yet counts as one without final blocks",
    "src/app/coin/evm/evmSwapChain.ts",
    "return tip !== null && tip.finalized === null;",
    "return (tip?.finalized ?? null) === null;",
    "src/app/coin/evm/evmSwapChain.test.ts",
  ),
  bug(
    "a node does not ask account chains whether they have final blocks",
    "src/app/node.ts",
    "this.coins.running(ticker)?.chain.hasNoFinality?.() ? null : profile.safety.notarizationSec",
    "profile.safety.notarizationSec",
    "test/sim/accountFinality.test.ts",
  ),
  bug(
    "a secret is shown behind what only nodes took that are not used any more",
    "src/app/coin/evm/nonceLedger.ts",
    "    this.#swapTxTakenAt.clear();\n    for (const entry of this.#entries.values()) entry.takenAt = null;\n",
    "",
    "src/app/coin/evm/swapNonces.test.ts",
  ),
  bug(
    "a transaction is lost by as many blocks as exchanged nodes made up",
    "src/app/coin/evm/evmSwapChain.ts",
    "known?.exchanges === exchanges ? known",
    "known ? known",
    "src/app/coin/evm/evmSwapChain.test.ts",
  ),
  bug(
    "an account is not told that its nodes were exchanged",
    "src/app/coin/evm/accountPool.ts",
    "    account.nonces.nodesExchanged();\n",
    "",
    WALLET,
  ),
  bug(
    "a transaction is lost by what nodes said last that are not used any more",
    "src/app/coin/evm/evmSwapChain.ts",
    'if (known && known.exchanges !== exchanges && this.#chain.status().state !== "ready") return undefined;',
    "",
    "src/app/coin/evm/evmSwapChain.test.ts",
  ),
];
