import { fromUnits, type Rational, toUnits } from "../../core/money/rational.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { type BuildError, type BuiltTx, worthSpending } from "../../core/utxo/buildTx.ts";
import type { ExactFee, FeeRate } from "../../core/utxo/feeRate.ts";
import type { SortedUnspents } from "../../core/utxo/sortedUnspents.ts";
import type { Tx, TxOutput } from "../../core/utxo/tx.ts";
import { serializeTx, txid } from "../../core/utxo/txCodec.ts";
import type { BroadcastOutcome, SeenTx, UtxoChain } from "../../ports/chain.ts";
import type { UtxoLedger } from "./utxoLedger.ts";

/** What a withdrawal needs of its coin. */
export interface WithdrawFrom {
  readonly ticker: string;
  readonly decimals: number;
  readonly address: string;
  readonly dust: Rational;
  readonly dustUnits: bigint;
  readonly ledger: UtxoLedger;
  readonly chain: UtxoChain;
  rate(stage: "start"): FeeRate;
  isOwnScript(script: Uint8Array): boolean;
  /** Builds from free outputs and signs; the inputs stay free until `ledger.lock`. */
  buildAndSign(
    outputs: readonly TxOutput[],
    rate: FeeRate | ExactFee,
    feeFromOutput?: number,
  ): Result<{ readonly tx: Tx; readonly built: BuiltTx }, BuildError>;
  /** Runs `task` once after `delayMs`, unless the coin closes before. */
  after(delayMs: number, task: () => void): void;
}

/** Whole coins, 0 or more. */
export type UtxoFee = { readonly kind: "fixed" | "perKbyte"; readonly amount: Rational };
/** Prices in gwei, 0 or more; `gas` null: estimated. */
export type GasFee =
  | { readonly kind: "gasPrice"; readonly gasPrice: Rational; readonly gas: bigint | null }
  | { readonly kind: "feeMarket"; readonly maxFee: Rational; readonly maxPriority: Rational; readonly gas: bigint | null };
/** `type`: the name KDF gives it. A coin refuses the kinds of others. */
export type WithdrawFee = (UtxoFee | GasFee | { readonly kind: "foreign" }) & { readonly type: string };

/** A withdrawal as asked for; `fee` undefined: the coin's own rule. Amounts in whole coins. */
export type WithdrawRequest = {
  readonly to: string;
  readonly amount: Rational | "max";
  readonly fee: WithdrawFee | undefined;
  readonly broadcast: boolean;
  /** Called before it may be out, if it is to be sent. */
  readonly onSend?: () => void;
};

export type Withdrawal = {
  readonly raw: Uint8Array;
  readonly txid: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** Sum of the inputs; on account chains the amount. */
  readonly total: Rational;
  readonly spentByMe: Rational;
  readonly receivedByMe: Rational;
  /** On account chains the most it can cost, in `gas.coin`. */
  readonly fee: Rational;
  readonly gas?: GasDetails;
};

/** What a transaction of an account chain offers. Prices of one unit of gas in whole coins of `coin`, the platform coin. */
export type GasDetails = {
  readonly coin: string;
  readonly gas: bigint;
  readonly gasPrice: Rational;
  /** Null: it offers one price. */
  readonly market: { readonly maxFee: Rational; readonly maxPriority: Rational } | null;
};

/** How long the inputs of a withdrawal that was sent, or may have been, stay taken whatever the backend shows. */
const SENT_HOLD_MS = 600_000;

export type SendError =
  /** The daemon's own clear refusal. */
  | { readonly kind: "Rejected"; readonly message: string }
  /** Whether it was sent is not known; `isUnsent`: it was not. */
  | { readonly kind: "Transport"; readonly message: string; readonly isUnsent?: true };

export type WithdrawError =
  | { readonly kind: "NotSufficientBalance"; readonly coin: string; readonly available: Rational; readonly required: Rational }
  /** A token's fee is paid in its platform coin. */
  | {
      readonly kind: "NotSufficientPlatformBalanceForFee";
      readonly coin: string;
      readonly available: Rational;
      readonly required: Rational;
    }
  | { readonly kind: "InvalidFeePolicy"; readonly reason: string }
  /** Named below what blocks take; gwei per unit of gas. */
  | { readonly kind: "InvalidFee"; readonly price: Rational; readonly baseFee: Rational }
  | { readonly kind: "ZeroBalanceToWithdrawMax" }
  | { readonly kind: "AmountTooLow"; readonly amount: Rational; readonly threshold: Rational }
  | { readonly kind: "InvalidAddress"; readonly reason: string }
  | SendError;

/** `accepted` and `already_known` are the same to a caller: the network has it. */
export function broadcastToResult(outcome: BroadcastOutcome, id: string): Result<string, SendError> {
  switch (outcome.kind) {
    case "accepted":
    case "already_known":
      return ok(id);
    case "rejected":
      return err({ kind: "Rejected", message: outcome.message });
    case "unknown":
      return err({ kind: "Transport", message: outcome.message, ...(outcome.isUnsent ? { isUnsent: true } : {}) });
  }
}

const atLeast0 = (n: bigint): bigint => (n > 0n ? n : 0n);

/**
 * Builds and signs a payment to `script`; sends it if asked. Never uses what is promised to swaps: the largest
 * withdrawal is the balance less those promises. The inputs are taken only when it is sent.
 * @param script output script of `request.to`, already checked
 */
export async function withdraw(
  coin: WithdrawFrom,
  request: WithdrawRequest & { readonly fee: UtxoFee | undefined },
  script: Uint8Array,
  signal: AbortSignal,
): Promise<Result<Withdrawal, WithdrawError>> {
  const { decimals } = coin;
  const rate = feeRateOf(coin, request.fee);
  const sum = (unspents: SortedUnspents): bigint => unspents.reduce((n, u) => n + u.value, 0n);
  const worth = (unspents: SortedUnspents): bigint => sum(worthSpending(unspents, rate));
  const unpromised = worth(coin.ledger.spendable()) - coin.ledger.held();
  // What each of the other outputs brings, it takes in fees, or more: with them as much more is there, and is needed at least.
  const unworthy = atLeast0(sum(coin.ledger.spendable()) - coin.ledger.held()) - atLeast0(unpromised);
  const tooMuch = (available: bigint, required: bigint): Result<never, WithdrawError> =>
    err(toWithdrawError(coin, { kind: "NotEnough", available: available + unworthy, required: required + unworthy }));
  const comingChange = unpromised - worth(coin.ledger.ready());
  const free = comingChange > 0n ? unpromised - comingChange : unpromised;
  const isMax = request.amount === "max";
  if (isMax && free <= 0n) {
    const isEmpty = coin.ledger.spendable().length === 0;
    return isEmpty ? err({ kind: "ZeroBalanceToWithdrawMax" }) : tooMuch(0n, coin.dustUnits);
  }
  const amount = request.amount === "max" ? free : toUnits(request.amount, decimals);
  if (amount < coin.dustUnits) return err({ kind: "AmountTooLow", amount: fromUnits(amount, decimals), threshold: coin.dust });
  const built = coin.buildAndSign([{ value: amount, script }], rate, isMax ? 0 : undefined);
  if (!built.ok) {
    const { error } = built;
    if (error.kind === "NotEnough") return tooMuch(error.available, error.required);
    // What is left of all there is once the fee is taken off may be less than nothing.
    const isEaten = isMax && error.kind === "OutputBelowDust";
    return err(toWithdrawError(coin, isEaten ? { ...error, value: amount, dust: amount - error.value + error.dust } : error));
  }
  const { tx, built: parts } = built.value;
  const spent = parts.spent.reduce((n, u) => n + u.value, 0n);
  if (spent - parts.change > free || !coin.ledger.leavesPromises(parts)) return tooMuch(atLeast0(free), spent - parts.change);
  const done: Withdrawal = {
    raw: serializeTx(tx),
    txid: txid(tx),
    from: [coin.address],
    to: [request.to],
    total: fromUnits(spent, decimals),
    spentByMe: fromUnits(spent, decimals),
    receivedByMe: fromUnits(coin.isOwnScript(script) ? spent - parts.fee : parts.change, decimals),
    fee: fromUnits(parts.fee, decimals),
  };
  if (!request.broadcast) return ok(done);
  request.onSend?.();
  const sent = await sendTaken(coin, tx, done.raw, signal);
  if (sent.ok) return ok(done);
  if (sent.error.kind !== "Transport") return sent;
  const { kind, isUnsent } = sent.error;
  const message = sent.error.message.replace(/\.$/, "");
  if (isUnsent) return err({ kind, message: `${message}; the transaction was not sent` });
  // Whoever asked must not take it for lost and pay again.
  return err({ kind, message: `${message}; transaction ${done.txid} may be out: look for it before you pay again` });
}

/** What sending takes of a coin. */
export type SendFrom = Pick<WithdrawFrom, "ledger" | "chain" | "after">;

/**
 * Sends a finished transaction. Most clients have withdrawals signed first and send them by themselves: swaps may have been promised what one
 * spends since then, and must not be promised it while nobody lists it yet.
 */
export async function sendFinished(coin: SendFrom, tx: Tx, raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
  const { own } = coin.ledger;
  const taken = own.takenBy(tx);
  if (taken !== null)
    return err({ kind: "Rejected", message: `an input of it is used by ${taken}, a transaction of a swap or one that was just sent` });
  const effect = own.effectOf(tx);
  if (effect === null) return broadcastToResult(await coin.chain.broadcast(raw, signal), txid(tx));
  if (!coin.ledger.leavesPromises(effect))
    return err({
      kind: "Rejected",
      message: "it spends what is promised to swaps; make another one of what is left, or send it when they have ended",
    });
  return sendTaken(coin, tx, raw, signal);
}

/** Takes the inputs, which are free until then, and sends. */
async function sendTaken(coin: SendFrom, tx: Tx, raw: Uint8Array, signal: AbortSignal): Promise<Result<string, SendError>> {
  coin.ledger.lock(tx);
  let outcome: BroadcastOutcome["kind"] | "unsent" = "unknown";
  try {
    const answer = await coin.chain.broadcast(raw, signal);
    outcome = answer.kind === "unknown" && answer.isUnsent ? "unsent" : answer.kind;
    return broadcastToResult(answer, txid(tx));
  } finally {
    // Also of what is cancelled while it is sent nothing is known.
    settle(coin, tx, raw, outcome);
  }
}

function settle(coin: SendFrom, tx: Tx, raw: Uint8Array, outcome: BroadcastOutcome["kind"] | "unsent"): void {
  if (outcome === "rejected" || outcome === "unsent") {
    coin.ledger.unlock(tx);
    return;
  }
  // Where it is not known to be out, its change counts when the backend lists it, not before.
  if (outcome === "unknown") coin.ledger.dropChange(tx);
  holdSent(coin, tx, raw);
}

/** Between two looks at what was sent. */
const LOOK_MS = 60_000;

/**
 * Lets go of what was sent after `SENT_HOLD_MS`: by then a block has it; or the backend never had it, and what it spends is free again. What waits in
 * a mempool is not let go of, for a swap may pay from its change at any time. What a swap has paid from is sent again while it is in no block, for mempools
 * forget, and nothing else may spend what it spends: the payment would be lost with it.
 */
export function holdSent(coin: SendFrom, tx: Tx, raw: Uint8Array, looks = SENT_HOLD_MS / LOOK_MS): void {
  coin.after(LOOK_MS, () => {
    const known = coin.chain.tx(txid(tx));
    const isPaidFrom = coin.ledger.own.builtOn(tx).size > 0 && !known?.block;
    // Whatever becomes of this try, there will be another; a coin that closes has none.
    if (isPaidFrom && !known) coin.chain.broadcast(raw).catch(() => undefined);
    if (looks > 1 || isPaidFrom || known?.block === null) holdSent(coin, tx, raw, looks - 1);
    else coin.ledger.unlock(tx);
  });
}

/** What holding what was sent before takes of a coin. */
export type SentBefore = SendFrom & { read(raw: Uint8Array): Tx | null };

/**
 * The same for what own transactions of before a start wait in a mempool, of which nothing is remembered. Not at once: those of swaps are held by
 * these as soon as their logs are read, and for longer.
 */
export function holdSentBefore(coin: SentBefore): void {
  coin.after(LOOK_MS, () => {
    const known = coin.ledger.own.touchedSince(coin.chain.status().tip?.height ?? 0);
    void holdSigned(
      coin,
      known.filter(({ block }) => block === null),
    );
  });
}

/** Of these, those that are signed here and that nothing holds yet. One signature is verified in a turn; of a coin that closes no more. */
async function holdSigned(coin: SentBefore, waiting: readonly SeenTx[]): Promise<void> {
  const { ledger } = coin;
  const isHeld = (tx: Tx): boolean => tx.inputs.some((input) => ledger.own.lockedBy(input) !== undefined);
  for (const { raw } of waiting) {
    const tx = coin.read(raw);
    if (tx === null || isHeld(tx) || !(await isSignedHere(coin, tx)) || isHeld(tx)) continue;
    ledger.lock(tx);
    ledger.dropChange(tx);
    holdSent(coin, tx, raw);
  }
}

async function isSignedHere(coin: SentBefore, tx: Tx): Promise<boolean> {
  for (const index of tx.inputs.keys()) {
    if (!coin.ledger.own.isSignedAt(tx, index)) return false;
    await new Promise<void>((resolve) => coin.after(0, resolve));
  }
  return true;
}

function feeRateOf(coin: WithdrawFrom, fee: UtxoFee | undefined): FeeRate | ExactFee {
  if (!fee) return coin.rate("start");
  const units = toUnits(fee.amount, coin.decimals);
  return fee.kind === "fixed" ? { exact: units } : { perKb: units, wholeKb: false };
}

function toWithdrawError(coin: WithdrawFrom, e: BuildError): WithdrawError {
  const whole = (units: bigint): Rational => fromUnits(units, coin.decimals);
  return e.kind === "OutputBelowDust"
    ? { kind: "AmountTooLow", amount: whole(e.value), threshold: whole(e.dust) }
    : { kind: "NotSufficientBalance", coin: coin.ticker, available: whole(e.available), required: whole(e.required) };
}
