import { bug, type PlantedBug } from "./plantedBug.ts";

const TRIALS = "src/app/coin/evm/claimTrials.ts";
const TRIALS_TEST = "src/app/coin/evm/claimTrials.test.ts";
const COIN = "src/app/coin/evm/evmSwapCoin.ts";
const VERSIONS = "src/app/swap/duties/feeVersions.ts";
const CALLS_TEST = "test/evm/callsFromContracts.test.ts";
const SILENT = "test/sim/accountSilentNodes.test.ts";

/** Claims of tokens of which nodes do not say whether they would be paid. */
export const TOKEN_CLAIMS: readonly PlantedBug[] = [
  bug(
    "the secret is shown by a token's claim though nobody says whether it would be paid",
    COIN,
    ": unknown(`whether the swap contract would pay ${ticker} to this account is not known: ${why}`);",
    ": null;",
    SILENT,
  ),
  bug(
    "no token can be received over nodes that take what data costs from a contract, too",
    "src/app/coin/evm/dataCost.ts",
    "isFunded: dataBound(chain).wei > 0n,",
    "isFunded: dataBound(chain).wei < 0n,",
    TRIALS_TEST,
    "src/app/coin/evm/dataFees.test.ts",
    "test/evm/rollupClaims.test.ts",
  ),
  bug(
    "nodes that limit how often they are asked let a token's claim go untried where data is paid for from the balance",
    COIN,
    "    if (!tried.ok) {\n      const why",
    '    if (!tried.ok) {\n      if (tried.error.kind === "Refused" && dataBound(account.chain).wei > 0n) return null;\n      const why',
    "src/app/coin/evm/dataFees.test.ts",
  ),
  bug(
    "nodes that limit how often they are asked count as such that carry out calls of contracts where data is paid for from the balance",
    TRIALS,
    'tried.ok || tried.error.kind === "Reverted" ? null',
    'tried.ok || tried.error.kind === "Reverted" || (tried.error.kind === "Refused" && chain.dataCost()?.wei) ? null',
    TRIALS_TEST,
    CALLS_TEST,
  ),
  bug(
    "of nodes that know no state overrides none says whether a token's claim would be paid",
    "src/adapters/evmRpc/quorum.ts",
    "isRevert(answer.error) || saysNothing(answer.error) ?",
    "true ?",
    CALLS_TEST,
  ),
  bug(
    "a node that has had enough of questions is asked each once more",
    "src/adapters/evmRpc/quorum.ts",
    "isRevert(answer.error) || saysNothing(answer.error) ?",
    "isRevert(answer.error) ?",
    CALLS_TEST,
  ),
  bug(
    "a maker's claim of a token that may have left stays home for ever where nobody says whether it would be paid",
    COIN,
    ": unknown(`whether the swap contract would pay ${ticker} to this account is not known: ${why}`);",
    ": refused(why);",
    "test/sim/accountAwayAtStart.test.ts",
  ),
  bug(
    "a dex fee is paid for a swap whose claim nobody will say is paid",
    COIN,
    "receiver === account.address ? unknown(",
    "receiver !== account.address ? unknown(",
    SILENT,
  ),
  bug(
    "who only pays a token is kept from it by nodes that carry out no call of a contract",
    COIN,
    "receiver === account.address ? unknown(await account.claims.check(from, signal)) : null",
    "unknown(await account.claims.check(from, signal))",
    SILENT,
  ),
  bug(
    "a claim that failed uses up its versions, one a block, while nodes stall when they are asked whether another would",
    VERSIONS,
    "    return `the ${coin.ticker} nodes have not said within ${TRY_MS / 1_000} s whether a claim or refund would be paid`;\n",
    "    return null;\n",
    SILENT,
  ),
  bug(
    "an order to receive a token is taken though its nodes carry out no call of a contract",
    "src/app/fees/tradeFunds.ts",
    "(coin.outage() ?? coin.unclaimable?.() ?? null)",
    "coin.outage()",
    SILENT,
  ),
  bug(
    "an offer to buy with a token is made though its nodes carry out no call of a contract",
    "src/app/orders/offerReserver.ts",
    "(coin === rel ? whyNotReceived(coin) : whyNoTrade(coin))",
    "whyNoTrade(coin)",
    SILENT,
  ),
  bug(
    "a token is bought though its nodes carry out no call of a contract",
    "src/app/orders/placeOrders.ts",
    "whyNoTrade(given) ?? whyNotReceived(received)",
    "whyNoTrade(given) ?? whyNoTrade(received)",
    SILENT,
  ),
  bug(
    "a contract that refuses a call counts as nodes that carry none out",
    TRIALS,
    'tried.ok || tried.error.kind === "Reverted" ? null',
    "tried.ok ? null",
    TRIALS_TEST,
  ),
  bug(
    "what nodes said that were exchanged meanwhile counts for those in use",
    TRIALS,
    "this.#trials.set(contract, { contract, ...NOT_TRIED });\n  }\n\n  start",
    "Object.assign(this.#trialOf(contract), NOT_TRIED);\n  }\n\n  start",
    TRIALS_TEST,
  ),
  bug(
    "that exchanged nodes carried calls of contracts out is believed of others for ten minutes more",
    "src/app/coin/evm/accountPool.ts",
    "    account.claims.forget();\n",
    "",
    "src/app/coin/evm/evmWallet.test.ts",
  ),
  bug(
    "nodes that carried calls of contracts out once are never asked again",
    TRIALS,
    "(fault === null ? KEPT_MS : AGAIN_MS)",
    "(fault === null ? 1e12 : AGAIN_MS)",
    TRIALS_TEST,
  ),
  bug(
    "one question that a node left open ends offers and purchases of tokens for half a minute",
    TRIALS,
    "if (before !== null || !isBrief) trial.obstacle = now;",
    "trial.obstacle = now;",
    TRIALS_TEST,
  ),
  bug(
    "a dex fee or payment goes out while nodes are away that say whether a token's claim is paid, as they did before",
    TRIALS,
    "    return now;",
    "    return trial.obstacle ?? null;",
    TRIALS_TEST,
  ),
  bug(
    "a clock that is set back by hours keeps tokens from being received for as long",
    TRIALS,
    "steadyTime(deps.clock)",
    "() => deps.clock.nowMs()",
    TRIALS_TEST,
  ),
];
