import { bug, type PlantedBug } from "./plantedBug.ts";

const STATE = "src/core/swap/swapState.ts";
const SCHEDULE = "src/core/swap/feeSchedule.ts";
const VERSIONS = "src/app/swap/duties/feeVersions.ts";
const SENDING = "src/app/swap/duties/sending.ts";
const OBSERVE = "src/app/swap/duties/observe.ts";
const BUILDER = "src/app/coin/ownTxBuilder.ts";
const SELECT = "src/chain/selectTxs.ts";

const STATE_TEST = "src/core/swap/swapState.test.ts";
const SCHEDULE_TEST = "src/core/swap/feeSchedule.test.ts";
const FEES = "test/swap/fees.test.ts";
const DEEP = "test/swap/deepReorgs.test.ts";
const SELECT_TEST = "src/chain/selectTxs.test.ts";

/** Fees that follow the deadline, versions of transactions, reorgs deeper than asked for, and the chain that plays them. */
export const FEE_BUGS: readonly PlantedBug[] = [
  bug(
    "what a child spends is in no balance until the child is listed",
    "src/app/coin/ownOutputs.ts",
    "isTaken(o) ? this.#isReturning(o) : !this.#isSpendable",
    "!isTaken(o) && !this.#isSpendable",
    "test/swap/feeVersions.test.ts",
  ),
  bug(
    "what a child that stays home would spend is kept for it until its swap is settled",
    "src/app/swap/swapTask.ts",
    "if (!tx || this.#state.own[slot]) continue;",
    "if (!tx?.attempted || this.#state.own[slot]) continue;",
    "test/swap/feeVersions.test.ts",
  ),
  bug(
    "a child is stored whose parent is in a block",
    STATE,
    "if (isChildSlot(e.slot) && s.facts[parentOf(s.terms.role, e.slot)]?.confirmed) return s;",
    "",
    STATE_TEST,
  ),
  bug("a payment is replaced", STATE, "if (!tx || !isReplaceableSlot(e.slot)) return s;", "if (!tx) return s;", STATE_TEST),
  bug("earlier versions are forgotten", STATE, "replaced: older } }", "replaced: [] } }", STATE_TEST),
  bug(
    "a success stays one though the chain says lost",
    STATE,
    "return s.finished === e.outcome ? s : { ...s, finished: e.outcome };",
    "return s.finished ? s : { ...s, finished: e.outcome };",
    STATE_TEST,
    DEEP,
  ),
  bug("a long wait for a block costs half the value", SCHEDULE, "min(cap >> above, allowed)", "cap >> above", SCHEDULE_TEST),
  bug("the going fee is not paid", SCHEDULE, "max(going, min(cap >> above, allowed))", "min(cap >> above, allowed)", SCHEDULE_TEST),
  bug(
    "a replacement pays too little more to be relayed",
    SCHEDULE,
    "return fee >= paid + relayFee(q) ? fee : null;",
    "return fee;",
    SCHEDULE_TEST,
  ),
  bug(
    "the fee may eat the value",
    SCHEDULE,
    "return min(sane, max(wholeCap(q), last));",
    "return max(sane, max(wholeCap(q), last));",
    SCHEDULE_TEST,
  ),
  bug(
    "a replaceable claim waits for the contract's lock",
    "src/core/utxo/htlcSpend.ts",
    "const lockTime = replaceable ? replaceableLockTime : spend.lockTime;",
    "const lockTime = spend.lockTime;",
    "src/core/utxo/htlc.test.ts",
    FEES,
  ),
  bug(
    "change too small for a child is kept while there are more outputs",
    "src/core/utxo/buildTx.ts",
    "if (built && !(built.ok && built.value.change < (args.minChange ?? 0n))) return built;",
    "if (built) return built;",
    "src/core/utxo/buildTx.test.ts",
  ),
  bug(
    "coins without replacement are taken for such with it",
    "src/core/coin/relayPolicy.ts",
    'if (!entry.segwit || entry.overwintered || entry.forkId) return "overpay";',
    'if (entry.overwintered || entry.forkId) return "overpay";',
    "src/core/coin/utxoKind.test.ts",
  ),
  bug(
    "a claim of a payment under another id is not made",
    VERSIONS,
    "if (!current) return buildSpend(task, slot, payment, paid, form);",
    "if (!current) return null;",
    DEEP,
  ),
  bug("the first version is sent for ever", VERSIONS, "open.findLast((v)", "open.find((v)", FEES),
  bug(
    "a refusal for a low fee changes nothing",
    SENDING,
    'this.#isRefused = outcome.kind === "rejected" && !isBeforeItsTime(task, slot) && !anyKnown(task, slot, form);',
    "this.#isRefused = false;",
    FEES,
  ),
  bug(
    "change that another payment uses is given to a child",
    "src/app/swap/duties/bump.ts",
    " || isBuiltOnByOthers(task, child, bytesOf(tx))",
    "",
    FEES,
  ),
  bug(
    "after a restart a child's change is free",
    "src/app/swap/storedFunds.ts",
    "this.#takeEach(uuid, coin, children, ",
    "this.#takeEach(uuid, coin, children.slice(99), ",
    FEES,
  ),
  bug("a cancellation does not beat the child", BUILDER, "= paidFee + childFees;", "= paidFee;", "src/app/coin/ownTxBuilder.test.ts"),
  bug(
    "a malleated payment is taken for its own cancellation",
    OBSERVE,
    "return found?.block && malleated(task, coin, ownPayment(task.state.terms.role))?.block ? null : found;",
    "return found;",
    DEEP,
  ),
  bug(
    "a malleated payment is not known again",
    OBSERVE,
    "return own?.block ? own : (malleated(task, coin, slot) ?? own);",
    "return own;",
    DEEP,
  ),
  bug(
    "a swap is settled by a block that a reorg took",
    "src/app/swap/isSettled.ts",
    "const block = chain.tx(txid)?.block ?? null;",
    'const block = chain.tx(txid)?.block ?? { height: 0, hash: "" };',
    DEEP,
  ),
  bug(
    "a status names the version that was replaced",
    "src/core/swap/swapStatus.ts",
    "event: { ...event, data: tx(fact) } };",
    "event };",
    FEES,
  ),
  bug(
    "the embedded miner ignores children",
    SELECT,
    "policy.packages ? graph.ancestors(",
    "skip.size > 99 ? graph.ancestors(",
    SELECT_TEST,
  ),
  bug("the embedded miner takes what comes first", SELECT, "if (isBetter(x.pack, y.pack)) return true;", "", SELECT_TEST),
  bug(
    "a full mempool of the embedded chain lets everything in",
    "src/chain/mempool.ts",
    "tooLow(this.#entryFeePerKb)",
    "tooLow(this.#floorFeePerKb)",
    SELECT_TEST,
    FEES,
  ),
  bug(
    "a refused version is all that is ever offered",
    SENDING,
    "if (refusal() && this.#older.isDue(OLDER_MS)) await sendOlder(task, slot, form, version.txid, signal);",
    "",
    "test/swap/feeVersions.test.ts",
  ),
  bug(
    "a dozen versions of a refused spend are offered every few seconds",
    SENDING,
    "if (refusal() && this.#older.isDue(OLDER_MS)) await",
    "if (refusal()) await",
    "test/swap/feeVersions.test.ts",
  ),
  bug(
    "what a daemon finds absurd is reckoned from the coins file's rate",
    "src/app/coin/utxoSwapCoin.ts",
    "relayPerKb: this.chain.relayFeePerKb(),",
    "relayPerKb: this.rates.floorPerKb(),",
    "src/app/coin/utxoLedger.test.ts",
  ),
  bug(
    "a maker that has its coin forgets its own payment",
    "src/app/swap/isSettled.ts",
    "restsOn(finished, terms.role).some((slot) => isDeep(task, slot));",
    '(finished === "success" || restsOn(finished, terms.role).some((slot) => isDeep(task, slot)));',
    "test/swap/deepReorgs.test.ts",
  ),
  bug(
    "a maker forgets its own refund because the taker's is deep",
    "src/app/swap/isSettled.ts",
    "restsOn(finished, terms.role).some((slot) => isDeep(task, slot));",
    '(finished !== "success" || restsOn(finished, terms.role).some((slot) => isDeep(task, slot)));',
    "test/swap/deepReorgs.test.ts",
  ),
  bug(
    "a cancellation pays what daemons take for a mistake",
    BUILDER,
    "const asked = offered > sane ? sane : offered;",
    "const asked = offered;",
    FEES,
  ),
];
