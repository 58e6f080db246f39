import type { Rule } from "../../sim/run/watch.ts";
import type { PlantedBug } from "./plantedBug.ts";

/** A small world of the simulator in which what a bug needs is common: half a minute of one core, and green without the bug. */
type World = string;

const program = (world: World): readonly string[] => [
  "--import",
  "./sim/native/hook.ts",
  "sim/main.ts",
  "--no-shrink",
  "--first",
  ...world.split(" "),
];

/** A bug that the simulator must notice by the rule it breaks. */
const caught = (rule: Rule, world: World, name: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  file,
  find,
  replace,
  caughtBy: { program: program(world), says: `[${rule}]` },
});

const SECRET = "src/core/keys/swapSecret.ts";
const TIMELOCKS = "src/core/swap/timelocks.ts";
const STATE = "src/core/swap/swapState.ts";
const DUTIES = "src/core/swap/duties.ts";
const HTLC = "src/core/utxo/htlc.ts";
const CONTRACTS = "src/app/swap/contracts.ts";
const TASK = "src/app/swap/swapTask.ts";
const RUNNER = "src/app/swap/swapRunner.ts";
const PAYMENT = "src/app/swap/duties/payment.ts";
const PUBLISH = "src/app/swap/duties/publish.ts";
const SENDING = "src/app/swap/duties/sending.ts";
const LATE_CLAIM = "src/app/swap/duties/lateClaim.ts";
const OBSERVE = "src/app/swap/duties/observe.ts";
const OUTPUTS = "src/app/coin/ownOutputs.ts";
const FUNDS = "src/app/swap/storedFunds.ts";
const NONCES = "src/app/coin/evm/nonceLedger.ts";
const HELD = "src/app/coin/evm/heldNonces.ts";
const BUILDER = "src/app/coin/evm/evmSwapBuilder.ts";

/** Nothing goes wrong but what always does: messages lost and late, clocks a little off. */
const CALM = "--seed 1 --makers 1 --takers 3 --coins 2 --hours 0.3 --rate 20 --faults 0";
/** The same, with a coin and a token of an account chain. */
const CALM_ACCOUNTS = "--seed 1 --makers 1 --takers 3 --coins 1 --accounts 2 --hours 0.1 --rate 40 --faults 0";
/** Strangers pay to every contract. */
const LITTER = "--seed 1 --makers 1 --takers 3 --coins 2 --hours 0.3 --rate 20 --faults 40 --kinds litter";
/** Counterparties pay with coins that they mine for that. */
const NEW_COINS = LITTER.replace("litter", "new_coins");
/** Miners write claims and refunds as nobody relays them. */
const ODD_FORMS = LITTER.replace("litter", "odd_forms");
/** More swaps at a time than outputs, and a slow disk between signing and sending. */
const TIGHT = "--seed 1 --makers 1 --takers 6 --coins 2 --hours 0.2 --rate 60 --faults 0 --purse 4 --fsync 3s";
/** More is asked for than there is, and what is spent does not come back. */
const SHORT = "--seed 1 --makers 4 --takers 2 --coins 2 --hours 0.1 --rate 300 --faults 0 --purse 3 --one-way";
/** Processes that die and come back hours later. */
const CRASHED = "--seed 17 --makers 2 --takers 6 --coins 2 --hours 0.6 --rate 30 --faults 60 --outside 80% --kinds crash";
/** The same, where one dies between the mark of its claim and its sending. */
const CRASHED_AT_CLAIM = "--seed 2 --makers 2 --takers 6 --coins 2 --hours 0.6 --rate 30 --faults 60 --outside 80% --kinds crash";
/** Blocks undone while daemons refuse what is sent. */
const REFUSED_DEEP =
  "--seed 3 --makers 2 --takers 6 --coins 2 --hours 0.6 --rate 30 --faults 80 --outside 80% --kinds crash,daemon_down,daemon_refuses,lost_reply,reorg,forget";
/** The same, where one refuses a claim. */
const CLAIM_REFUSED = REFUSED_DEEP.replace("--seed 3", "--seed 6");
/** Processes that die while their daemons refuse what they send. */
const REFUSED =
  "--seed 1 --makers 1 --takers 4 --coins 2 --hours 0.4 --rate 30 --faults 400 --outside 0 --kinds crash,power_cut,daemon_refuses --purse 12";
/** Blocks undone deeper than what counts as final. */
const DEEP = "--seed 1 --makers 1 --takers 4 --coins 2 --hours 0.4 --rate 20 --faults 60 --outside 50% --kinds reorg,forget";
/** Nodes and daemons away for hours: locks run out. */
const AWAY =
  "--seed 1 --makers 2 --takers 4 --coins 2 --hours 0.4 --rate 20 --faults 40 --outside 80% --kinds power_cut,daemon_down,drought";
/** Processes that die at every boundary, and disks that are full. */
const DYING =
  "--seed 1 --makers 2 --takers 4 --coins 2 --hours 0.4 --rate 20 --faults 60 --outside 0 --kinds crash,power_cut,disk_full --purse 6";
/** Daemons whose replies are lost, and mempools that forget. */
const LOST =
  "--seed 1 --makers 1 --takers 4 --coins 2 --hours 0.4 --rate 20 --faults 60 --outside 0 --kinds lost_reply,forget,daemon_refuses";

/** Clocks that are set by minutes to half a day. */
const CLOCKS = "--seed 1 --makers 1 --takers 3 --coins 1 --accounts 1 --hours 1.5 --rate 6 --faults 4 --outside 100% --kinds clock_set";

/** What the simulator alone must notice, each by the rule of docs/safety.md that it breaks. */
export const SIM_BUGS: readonly PlantedBug[] = [
  caught(
    "stored first",
    CALM,
    "a payment is sent before it is stored",
    PAYMENT,
    "await storeSigned(task, slot, built.value, limit);",
    "await coin.chain.broadcast(built.value.raw, signal);\n  await storeSigned(task, slot, built.value, limit);",
  ),
  caught(
    "stored first",
    DYING,
    "what the disk refused counts as stored",
    TASK,
    "if (!(await this.#catchUp())) throw cause;\n      return this.#apply(holds, event, marks);",
    "if (await this.#catchUp()) return this.#apply(holds, event, marks);\n      this.trouble(String(cause));",
  ),
  caught(
    "in time",
    CRASHED,
    "a stored payment is not validated again before it leaves",
    PUBLISH,
    "const mayLeave = slot !== ownPayment(role) || (await",
    "const mayLeave = slot.length > 0 || (await",
  ),
  caught(
    "secret",
    AWAY,
    "the secret is revealed after its time limit",
    TIMELOCKS,
    "revealBy: Math.min(startedAt + Math.floor((4 * lockDurationSec) / 5), lock - revealMarginSec),",
    "revealBy: makerLock(makerStart, lockDurationSec) - revealMarginSec,",
  ),
  caught(
    "secret",
    CRASHED_AT_CLAIM,
    "a claim that never left shows its secret after the other payment is back",
    PUBLISH,
    "showsSecret ? await whyKept(task, signal) : null;",
    "!first && showsSecret ? await whyKept(task, signal) : null;",
  ),
  caught(
    "secret",
    CLAIM_REFUSED,
    "a claim that its daemon refuses shows its secret after a reorganisation took the other payment",
    LATE_CLAIM,
    'return chain.guard || stands(task, coin, output) ? "there" : "gone";',
    'return "there";',
  ),
  caught(
    "secret",
    CALM,
    "the secret is derived from what everybody knows",
    SECRET,
    "hkdf(sha256, nodeSecret.reveal(), undefined, info, 32)",
    "hkdf(sha256, PURPOSE, undefined, info, 32)",
  ),
  caught(
    "in order",
    CALM,
    "depths are counted one block too high",
    CONTRACTS,
    "if (depth < confs) return",
    "if (depth + 1 < confs) return",
  ),
  caught(
    "in order",
    NEW_COINS,
    "what nobody may claim for a hundred blocks is paid against",
    PAYMENT,
    "if (output.coinbase) return",
    'if (output.coinbase && s.terms.role === "maker") return',
  ),
  caught(
    "secret",
    NEW_COINS,
    "the secret is shown for what nobody may claim for a hundred blocks",
    PAYMENT,
    "if (output.coinbase) return",
    'if (output.coinbase && s.terms.role === "taker") return',
  ),
  caught(
    "funds",
    ODD_FORMS,
    "a claim is told from a refund by the places where wallets put things",
    HTLC,
    "const branch = pushes?.at(-2);",
    "const branch = pushes?.[2];",
  ),
  caught(
    "in order",
    REFUSED_DEEP,
    "what a payment is for goes while its daemon refuses it",
    PUBLISH,
    "!mustProve || isStillSafe(task, signal)",
    "true",
  ),
  caught(
    "in time",
    AWAY,
    "a refund leaves too early",
    "src/app/swap/duties/refundView.ts",
    "lockHasPassed(task, side, contract.lock),",
    "lockHasPassed(task, side, contract.lock - 600),",
  ),
  caught(
    "truth",
    DEEP,
    "a reorganisation takes nothing back that was confirmed",
    STATE,
    "if (!known || known.txid !== e.txid) return s;\n      const",
    "if (!known || known.txid !== e.txid || known.confirmed) return s;\n      const",
  ),
  caught(
    "truth",
    CALM,
    "a swap is finished before its claim is final",
    STATE,
    'if (s.facts[ownClaim(role)]?.confirmed) return "success";',
    'if (s.facts[ownClaim(role)]) return "success";',
  ),
  caught(
    "truth",
    LOST,
    "a broadcast error counts as failure",
    SENDING,
    "task.trouble(`${slot} ${outcome.kind}: ${outcome.message}`);",
    'await task.emit({ type: "finished", outcome: "failed" });',
  ),
  caught(
    "one output",
    TIGHT,
    "an output is used for two swaps",
    OUTPUTS,
    "for (const input of tx.inputs) this.#locked.set(input, id);",
    "",
  ),
  caught(
    "one output",
    REFUSED,
    "a restart forgets what is spent",
    FUNDS,
    "this.#takeEach(uuid, coin, raws, (raw) => coin.lockInputs(raw));",
    "this.#takeEach(uuid, coin, raws.slice(100), (raw) => coin.lockInputs(raw));",
  ),
  caught(
    "funded",
    SHORT,
    "a reservation is released early",
    RUNNER,
    "if (task.state.finished) {\n      this.#releaseFunds(task);",
    "this.#releaseFunds(task);\n    if (task.state.finished) {",
  ),
  caught(
    "undisturbed",
    LITTER,
    "the first entry of a contract's history is taken for the payment",
    OBSERVE,
    "o.value === unitsOf(s, slot) && fits(o.txid)",
    "o.value > 0n && fits(o.txid)",
  ),
  caught(
    "ends",
    AWAY,
    "a refund is not waited for off the straight road",
    DUTIES,
    "if (paymentMayExist(s) && !settledOtherwise) {",
    "if (paymentMayExist(s) && !settledOtherwise && straight) {",
  ),
  caught(
    "deadline",
    LOST,
    "a transaction seen once is never sent again",
    SENDING,
    "if (mayLeave && !isInBlock(task, slot, form) && repeat",
    "if (mayLeave && !isInBlock(task, slot, form) && !task.state.facts[slot] && repeat",
  ),
  caught("one nonce", CALM_ACCOUNTS, "two swaps are given one nonce", HELD, "while (taken.has(nonce)) nonce++;", ""),
  caught(
    "stored first",
    CALM_ACCOUNTS,
    "an approval is sent before it is stored",
    NONCES,
    'await this.#put(signed, "sent");\n    } finally',
    'void this.#put(signed, "sent");\n    } finally',
  ),
  caught(
    "conservation",
    CALM_ACCOUNTS,
    "a dex fee of an account chain is a unit more than agreed",
    BUILDER,
    "? { to, value: units, data: NO_DATA, gas }",
    "? { to, value: units + 1n, data: NO_DATA, gas }",
  ),
  caught(
    "conservation",
    CALM,
    "the change of a payment goes where the payment goes",
    "src/core/utxo/buildTx.ts",
    "{ value: change, script: args.changeScript }] : outputs",
    "{ value: change, script: args.outputs[0]?.script ?? args.changeScript }] : outputs",
  ),
  caught(
    "conservation",
    CALM,
    "a dex fee is thirty times what was agreed",
    "src/core/utxo/swapTx.ts",
    "const fee = { value: terms.fee, script",
    "const fee = { value: terms.fee * 30n, script",
  ),
  caught(
    "funds",
    CALM,
    "a claim pays what daemons just take",
    "src/app/coin/ownTxBuilder.ts",
    "const fee = args.fee !== undefined && wanted > most ? most : wanted;",
    "const fee = most < 2_500_000n ? most : 2_500_000n;",
  ),
  caught(
    "truth",
    CALM,
    "a swap counts as lost while the other side's payment can still be claimed",
    STATE,
    "if (s.facts[theirClaim(role)]?.confirmed && (s.facts[theirRefund(role)]?.confirmed || s.isTheirsGone)) return",
    "if (s.facts[theirClaim(role)]?.confirmed) return",
  ),
  caught(
    "caught up",
    CLOCKS,
    "a clock that is set back by hours has no account chain looked at for as long",
    "src/adapters/evmRpc/lookLoop.ts",
    "this.#clock = steadyClock(deps.clock);",
    "this.#clock = deps.clock;",
  ),
];
