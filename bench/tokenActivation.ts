import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as later } from "node:timers/promises";
import { encodeWords } from "../src/core/evm/abi.ts";
import { checksumAddress, type EvmAddress } from "../src/core/evm/address.ts";
import { SWAPNODE_SWAP_CREATION_CODE } from "../src/core/evm/contract/swapnodeSwap.ts";
import { TEST_TOKEN_CREATION_CODE } from "../src/core/evm/contract/testToken.ts";
import { toHex } from "../src/core/util/bytes.ts";
import { type Anvil, startAnvil } from "../test/support/anvil.ts";
import { startLoneNode } from "./support/loneNode.ts";
import type { Question } from "./support/question.ts";

const TOKENS = 500;
/** Blocks whose looks are counted, and how long a look may take: the node polls every four seconds. */
const LOOKS = 3;
const LOOK_MS = 6_000;
const CHAIN_ID = 31_337;

const addressOf = (i: number): EvmAddress => `${"77".repeat(18)}${(256 + i).toString(16).padStart(4, "0")}` as EvmAddress;
const tickerOf = (i: number): string => `T${i}-ERC20`;
const entry = (coin: string, decimals: number, protocol: object) => ({ coin, fname: coin, mm2: 1, decimals, protocol });
const coins = [
  entry("ETH", 18, { type: "ETH", protocol_data: { chain_id: CHAIN_ID } }),
  ...Array.from({ length: TOKENS }, (_, i) =>
    entry(tickerOf(i), 6, { type: "ERC20", protocol_data: { platform: "ETH", contract_address: checksumAddress(addressOf(i)) } }),
  ),
];

/** Passes HTTP requests on and counts them. */
async function countingProxy(target: string) {
  let requests = 0;
  const server = createServer((asked, answer) => {
    requests++;
    const passed = request(target, { method: asked.method, headers: asked.headers }, (told) => {
      answer.writeHead(told.statusCode ?? 502, told.headers);
      told.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests: () => requests, close: () => void server.close().closeAllConnections() };
}

/** @returns the address of what `code` made, lower case with `0x` */
async function deploy(anvil: Anvil, code: string): Promise<string> {
  const hash = await anvil.call("eth_sendTransaction", [{ from: anvil.accounts[0]?.address, data: `0x${code}`, gas: "0x4c4b40" }]);
  for (let tries = 0; tries < 200; tries++) {
    const receipt = (await anvil.call("eth_getTransactionReceipt", [hash])) as { contractAddress: string; status: string } | null;
    if (receipt?.status === "0x0") throw new Error("the chain refused a contract");
    if (receipt) return receipt.contractAddress;
    await later(10);
  }
  throw new Error("nothing was deployed");
}

/** Name and symbol without a letter, six decimals, no supply. */
const TOKEN_ARGUMENTS = encodeWords(["uint256", "uint256", "uint256", "uint256", "uint256", "uint256"], [128n, 160n, 6n, 0n, 0n, 0n]);

/** How fast a wallet of many tokens is there, and what keeping their balances asks of the nodes. */
export const question: Question = {
  name: "tokens",
  title: `${TOKENS} tokens enabled in one call, over one node (anvil) on this machine`,
  async ask(say) {
    say(`making a chain with ${TOKENS} tokens`);
    const anvil = await startAnvil({ chainId: CHAIN_ID });
    const proxy = await countingProxy(anvil.url);
    const node = await startLoneNode({ program: "checkout", isSeed: true, coins }).catch((cause: unknown) => {
      proxy.close();
      void anvil.stop();
      throw cause;
    });
    try {
      const swapContract = await deploy(anvil, SWAPNODE_SWAP_CREATION_CODE);
      const token = await deploy(anvil, TEST_TOKEN_CREATION_CODE + toHex(TOKEN_ARGUMENTS));
      const code = await anvil.call("eth_getCode", [token, "latest"]);
      await anvil.callAll(Array.from({ length: TOKENS }, (_, i) => ({ method: "anvil_setCode", params: [`0x${addressOf(i)}`, code] })));
      // The node reads at block hashes: the tokens must be in a block.
      await anvil.call("evm_mine");
      const enable = async (): Promise<number> => {
        const startMs = performance.now();
        const params = {
          ...{ ticker: "ETH", nodes: [{ url: proxy.url }], swap_contract_address: swapContract },
          erc20_tokens_requests: Array.from({ length: TOKENS }, (_, i) => ({ ticker: tickerOf(i) })),
        };
        await node.rpc.call("enable_eth_with_tokens", { mmrpc: "2.0", id: 1, params });
        return (performance.now() - startMs) / 1_000;
      };
      say("enabling them");
      const first = await enable();
      const requests = proxy.requests();
      await later(LOOK_MS);
      const before = proxy.requests();
      for (let i = 0; i < LOOKS; i++) {
        await anvil.call("evm_mine");
        await later(LOOK_MS);
      }
      const aLook = (proxy.requests() - before) / LOOKS;
      await node.rpc.call("disable_coin", { coin: "ETH", force_disable: true });
      const again = await enable();
      return [
        { what: `${TOKENS} tokens and their platform coin, never enabled before`, value: first, unit: "s", aim: { atMost: 3 } },
        { what: "the same again, in the same process", value: again, unit: "s", aim: { atMost: 3 } },
        { what: "requests until all balances were there", value: requests, unit: "", note: "batches count as one" },
        {
          what: "requests a block, all balances kept",
          value: aLook,
          unit: "",
          aim: { atMost: 8 },
          note: "its polls between them included",
        },
      ];
    } finally {
      await node.stop();
      proxy.close();
      await anvil.stop();
    }
  },
};
