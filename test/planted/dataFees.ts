import { bug, type PlantedBug } from "./plantedBug.ts";

const APP = "src/app/coin/evm";
const FUNDS = `${APP}/evmTradeFunds.ts`;
const COST = `${APP}/dataCost.ts`;
const READER = "src/adapters/evmRpc/dataCostReader.ts";
const SIM = "test/sim/accountDataFees.test.ts";
const FIGURES = `${APP}/dataFees.test.ts`;
const NODES = "test/evm/dataCost.test.ts";

/** What chains take for the data of transactions, beside gas and as gas. */
export const DATA_FEE_BUGS: readonly PlantedBug[] = [
  bug(
    "a withdrawal of everything leaves nothing for its data",
    `${APP}/withdrawEvm.ts`,
    "fee: greatestFee(bid, units.value) + dataBound(coin.account.chain).wei }",
    "fee: greatestFee(bid, units.value) }",
    `${APP}/evmWallet.test.ts`,
  ),
  bug(
    "a withdrawal goes out at whatever the nodes say of its data",
    `${APP}/withdrawEvm.ts`,
    "if (obstacle !== null) return err",
    "if (obstacle === undefined) return err",
    `${APP}/evmWallet.test.ts`,
  ),
  bug(
    "what data costs beside gas is not held at the match",
    FUNDS,
    "gas: gas * ceiling + data, orLessGas",
    "gas: gas * ceiling, orLessGas",
    SIM,
  ),
  bug(
    "what data costs is held without room to rise",
    FUNDS,
    "const perTx = dataBound(chain).wei * this.#ceilingFactor;",
    "const perTx = dataBound(chain).wei;",
    SIM,
  ),
  bug(
    "a swap goes on at dearer data than was promised",
    FUNDS,
    "if (held !== null && data > held)",
    "if (held !== null && data < 0n)",
    SIM,
  ),
  bug(
    "gas that data needs is promised only once a claim was looked at",
    FUNDS,
    "return gas > found ? gas : found;",
    "return gas < 0n ? gas : found;",
    FIGURES,
  ),
  bug(
    "gas that a node named once keeps swaps from beginning for ever",
    FUNDS,
    "this.coin.account.clock.nowMs() < untilMs ? gas : 0n",
    "untilMs > 0 ? gas : 0n",
    FIGURES,
  ),
  bug(
    "approvals have no data",
    FUNDS,
    "{ gas: MOST_APPROVALS * (APPROVAL_GAS + this.besideGas), txs: MOST_APPROVALS }",
    "{ gas: MOST_APPROVALS * APPROVAL_GAS, txs: 0n }",
    FIGURES,
  ),
  bug(
    "trades begin whatever the nodes say of data",
    FUNDS,
    "const obstacle = dataObstacle(this.coin.account) ?? (contract",
    "const obstacle = null ?? (contract",
    SIM,
  ),
  bug(
    "a secret is shown by a claim whose data cannot be paid",
    `${APP}/evmSwapCoin.ts`,
    "priceOf(this.#builder.market()) + dataBound(account.chain).wei;",
    "priceOf(this.#builder.market());",
    FIGURES,
  ),
  bug(
    "a secret is shown whatever the nodes say of data",
    "src/app/swap/duties/claimAndRefund.ts",
    "refused ?? coin.spendTooDear() ?? coin",
    "refused ?? coin",
    SIM,
  ),
  bug(
    "a claim that failed on its chain is not made again while its data is dear",
    `${APP}/evmSwapCoin.ts`,
    "if (beside !== null) this.needsDataGas(beside);",
    "if (beside !== null) this.needsDataGas(beside);\n    const dear = this.spendTooDear();\n    if (dear !== null) return dear;",
    SIM,
  ),
  bug("the data of what waits counts as free", `${APP}/nonceLedger.ts`, "      dataBound(this.#deps.chain).wei,\n", "      0n,\n", FIGURES),
  bug(
    "a withdrawal signed before takes the promised wei for its data",
    `${APP}/accountFunds.ts`,
    "greatestCost(tx) + beside - counted.wei",
    "greatestCost(tx) - counted.wei",
    FIGURES,
  ),
  bug(
    "a payment leaves the wei for its data promised twice",
    `${APP}/evmSwapBuilder.ts`,
    "funds.use(reservation.id, units, taken, signed.txid)",
    "funds.use(reservation.id, units, fee, signed.txid)",
    FIGURES,
  ),
  bug(
    "an approval is sent without wei for its data",
    `${APP}/allowanceKeeper.ts`,
    "greatestFee(bid, gasLimit) + dataBound(chain).wei;",
    "greatestFee(bid, gasLimit);",
    FIGURES,
  ),
  bug(
    "a filler is sent without wei for its data",
    `${APP}/nonceKeeper.ts`,
    "greatestFee(bid, gasLimit) + dataBound(chain).wei;",
    "greatestFee(bid, gasLimit);",
    FIGURES,
  ),
  bug(
    "get_trade_fee leaves out what data costs",
    `${APP}/evmCoin.ts`,
    "limits.tradeFee + gas) + wei, platformDecimals)",
    "limits.tradeFee + gas), platformDecimals)",
    FIGURES,
  ),
  bug("an absurd price of data is paid", COST, "return wei > MOST_DATA_WEI", "return wei < 0n", SIM),
  bug(
    "a price of data that nobody told is taken for nothing",
    COST,
    "if (chain.dataCost() === null) return",
    "if (chain.dataCost() === undefined) return",
    SIM,
  ),
  bug(
    "a chain that takes nothing for data today is never asked again",
    READER,
    "gasBeside(cost) === 0n && [l1, operator, arbitrum].every(isEmpty)",
    "gasBeside(cost) === 0n && [l1, operator].every(isEmpty)",
    NODES,
  ),
  bug("the price of data stays as it was at activation", READER, "this.#againAtMs = nowMs +", "this.#againAtMs = 1e15 + nowMs +", NODES),
  bug("an oracle's nonsense counts as no fee", READER, "return fee?.ok ? fee : err(", "return fee?.ok ? fee : fee ? ok(0n) : err(", NODES),
  bug(
    "what data costs is asked for at new blocks alone",
    "src/adapters/evmRpc/chainLook.ts",
    "if (view.data === null) await",
    "if (view.data === undefined) await",
    NODES,
  ),
  bug(
    "one node that refuses an estimate leaves what data costs unknown",
    READER,
    "if (!gas.ok && !isEmpty(arbitrum))",
    "if (!gas.ok)",
    NODES,
  ),
  bug(
    "an older oracle's refusal counts in one wording only",
    "src/adapters/evmRpc/quorum.ts",
    'isRevert(error) || (error.kind === "rpc" && this.#query.isRefusedByContract)',
    "isRevert(error)",
    NODES,
  ),
  bug(
    "a claim is signed with whatever gas a node names",
    FUNDS,
    "return wanted <= most ? wanted : most > least ? most : least;",
    "return wanted <= most ? wanted : most < least ? most : wanted;",
    SIM,
    FIGURES,
  ),
  bug(
    "a claim is signed with more gas than the account can pay",
    FUNDS,
    "const most = paid < MOST_SPEND_GAS_WITH_DATA ? paid : MOST_SPEND_GAS_WITH_DATA;",
    "const most = paid < 0n ? paid : MOST_SPEND_GAS_WITH_DATA;",
    FIGURES,
  ),
  bug("the operator's part of a fee is left out", READER, "wei: data.value + more.value", "wei: data.value", NODES),
  bug(
    "a chain of its own is asked at every block what data costs",
    READER,
    "if (this.#isSettled || nowMs < this.#againAtMs)",
    "if (nowMs < this.#againAtMs)",
    NODES,
  ),
];
