import { err, ok, type Result } from "../util/result.ts";
import { compactSizeLength } from "./byteWriter.ts";
import { type ExactFee, type FeeRate, feeForSize } from "./feeRate.ts";
import { OP } from "./opcodes.ts";
import { witnessProgram } from "./outputScript.ts";
import { filterUnspents, type SortedUnspents, sliceUnspents, unspentsAbove } from "./sortedUnspents.ts";
import type { Tx, TxOutput } from "./tx.ts";
import { draftTx, SEQUENCE_FINAL, type TxTemplate } from "./txTemplate.ts";

/** push + DER signature with type byte (at most 72) + push + key. KDF counts the same for a P2PK input. */
const SCRIPT_SIG_BYTES = 1 + 72 + 1 + 33;
/** Witness of P2WPKH: item count, then the same two items with their lengths. */
const WITNESS_BYTES = 1 + SCRIPT_SIG_BYTES;
/** Outpoint, length of the script, sequence. */
const INPUT_BYTES = 36 + 1 + 4;
/** Bound of what an input adds to the size, its share of the counts included. */
const LARGEST_INPUT_BYTES = INPUT_BYTES + SCRIPT_SIG_BYTES + 3;
/** Group id, expiry height, value balance and three zero counts of a transparent v4 transaction. */
const SAPLING_BYTES = 4 + 4 + 8 + 3;
/** Largest transaction nodes relay, virtual bytes (standardness of the Bitcoin family: 400,000 weight units). */
const MAX_STANDARD_VSIZE = 100_000;

/** One for all inputs: an array of its own for each of thousands costs more than the rest of them. */
const UNSIGNED = new Uint8Array(0);

const outputBytes = (script: Uint8Array): number => 8 + compactSizeLength(script.length) + script.length;

/** Inputs by how they are signed. */
type InputCounts = { readonly legacy: number; readonly witness: number };

/** Upper bound of the virtual size of a transaction whose inputs spend own P2PKH, P2PK or P2WPKH outputs, once signed. */
function estimateVsize(template: TxTemplate, inputs: InputCounts, outputs: readonly TxOutput[]): number {
  const count = inputs.legacy + inputs.witness;
  const base =
    4 +
    compactSizeLength(count) +
    count * INPUT_BYTES +
    inputs.legacy * SCRIPT_SIG_BYTES +
    compactSizeLength(outputs.length) +
    outputs.reduce((n, o) => n + outputBytes(o.script), 0) +
    4 +
    (template.format.kind === "sapling" ? SAPLING_BYTES : 0);
  // Marker and flag, one witness per input; an input without one has a zero count.
  const witnessBytes = inputs.witness > 0 ? 2 + inputs.witness * WITNESS_BYTES + inputs.legacy : 0;
  return base + Math.ceil(witnessBytes / 4);
}

/**
 * The outputs worth more than what spending them costs at a rate. Anybody can send thousands of tiny ones to an address:
 * taking them first, as the order of selection would, pays more in fees than they bring.
 */
export function worthSpending(unspents: SortedUnspents, rate: FeeRate | ExactFee): SortedUnspents {
  if ("exact" in rate) return unspents;
  const perByte = { ...rate, wholeKb: false };
  const legacy = feeForSize(perByte, INPUT_BYTES + SCRIPT_SIG_BYTES);
  const witness = feeForSize(perByte, INPUT_BYTES + Math.ceil(WITNESS_BYTES / 4));
  const some = unspentsAbove(unspents, witness);
  const all = unspentsAbove(some, legacy);
  if (all.length === some.length) return some;
  return filterUnspents(some, (u) => u.value > legacy || witnessProgram(u.script) !== null);
}

export type BuildArgs = {
  readonly template: TxTemplate;
  /** Own outputs to choose from, at most 100,000. */
  readonly unspents: SortedUnspents;
  /** Fixed outputs, in order; change comes after them. */
  readonly outputs: readonly TxOutput[];
  readonly changeScript: Uint8Array;
  readonly feeRate: FeeRate | ExactFee;
  /** Least value of an output, base units; OP_RETURN outputs are exempt. */
  readonly dust: bigint;
  /** From `currentLockTime`. */
  readonly lockTime: number;
  /** More inputs are added, while there are any, until the change is at least this; absent: any change will do. */
  readonly minChange?: bigint;
  /** Index of the output that pays the miner fee (its value is what the fee is taken from); absent: the change pays. */
  readonly feeFromOutput?: number;
};

export type BuiltTx = {
  /** Unsigned. */
  readonly tx: Tx;
  /** The outputs it spends, in the order of its inputs. */
  readonly spent: SortedUnspents;
  /** Inputs minus outputs, base units; includes a change too small to be an output. */
  readonly fee: bigint;
  /** Base units; 0 when there is no change output. */
  readonly change: bigint;
};

export type BuildError =
  /** `required`: outputs and fee when every unspent is used. */
  | { readonly kind: "NotEnough"; readonly available: bigint; readonly required: bigint }
  | { readonly kind: "OutputBelowDust"; readonly value: bigint; readonly dust: bigint }
  /** The outputs would need more inputs than fit into a transaction nodes relay. `available`: the most one could spend. */
  | { readonly kind: "TooManyInputs"; readonly available: bigint; readonly required: bigint };

/** The unspents chosen so far, and their sum. */
type Chosen = { readonly spent: SortedUnspents; readonly sum: bigint };

const sum = (items: readonly { readonly value: bigint }[]): bigint => items.reduce((n, i) => n + i.value, 0n);

function belowDust(outputs: readonly TxOutput[], dust: bigint): Result<never, BuildError> | null {
  const small = outputs.find((o) => o.script[0] !== OP.RETURN && o.value < dust);
  return small ? err({ kind: "OutputBelowDust", value: small.value, dust }) : null;
}

function finish(args: BuildArgs, chosen: Chosen, outputs: readonly TxOutput[], change: bigint): Result<BuiltTx, BuildError> {
  const small = belowDust(outputs, args.dust);
  if (small) return small;
  const all = change > 0n ? [...outputs, { value: change, script: args.changeScript }] : outputs;
  const { spent } = chosen;
  const inputs = spent.map(({ txid, vout }) => ({ txid, vout, scriptSig: UNSIGNED, sequence: SEQUENCE_FINAL, witness: [] }));
  const tx = draftTx(args.template, { inputs, outputs: all, lockTime: args.lockTime });
  return ok({ tx, spent, fee: chosen.sum - sum(all), change });
}

/** What a size costs, for the fixed outputs alone and with a change output. */
type Costs = { readonly plain: bigint; readonly withChange: bigint; readonly vsize: number };

function costs(args: BuildArgs, counts: InputCounts): Costs {
  const vsize = estimateVsize(args.template, counts, [...args.outputs, { value: 0n, script: args.changeScript }]);
  const plain = feeForSize(args.feeRate, estimateVsize(args.template, counts, args.outputs));
  return { plain, withChange: feeForSize(args.feeRate, vsize), vsize };
}

/** The finished transaction if the chosen inputs suffice, else null. */
function complete(args: BuildArgs, chosen: Chosen, cost: Costs, wanted: bigint): Result<BuiltTx, BuildError> | null {
  const rest = chosen.sum - wanted;
  const from = args.feeFromOutput;
  if (from === undefined) {
    if (rest < cost.plain) return null;
    const change = rest - cost.withChange;
    return finish(args, chosen, args.outputs, change >= args.dust ? change : 0n);
  }
  if (rest < 0n) return null;
  const change = rest >= args.dust ? rest : 0n;
  // Without a change output what is left over pays a part of the fee.
  const taken = change > 0n ? cost.withChange : cost.plain > rest ? cost.plain - rest : 0n;
  const outputs = args.outputs.map((o, i) => (i === from ? { ...o, value: o.value - taken } : o));
  return finish(args, chosen, outputs, change);
}

/**
 * Chooses inputs and builds the unsigned transaction (swap-protocol.md 4.2). Smallest outputs first, as KDF does, until
 * outputs and fee are covered; where that would make a transaction too large to be relayed, the smallest make room for
 * larger ones. The fee is recomputed for every candidate, with and without change; a change below dust goes to the fee.
 * Outputs below dust are refused before any look at the unspents (reference rpc.md 4.1.1).
 *
 * To spend certain outputs whole (a maximum volume, a replacement), pass them with an output of their sum and
 * `feeFromOutput`.
 */
export function buildTx(args: BuildArgs): Result<BuiltTx, BuildError> {
  const { unspents } = args;
  const small = belowDust(args.outputs, args.dust);
  if (small) return small;
  const wanted = sum(args.outputs);
  const feeFromChange = args.feeFromOutput === undefined;
  let total = 0n;
  let legacy = 0;
  let witness = 0;
  let from = 0;
  const none = costs(args, { legacy: 0, witness: 0 });
  /** With fewer inputs a transaction is surely not too large. */
  const roomy = (MAX_STANDARD_VSIZE - none.vsize) / LARGEST_INPUT_BYTES;
  let required = wanted + (feeFromChange ? none.plain : 0n);
  let smallChange = null as Result<BuiltTx, BuildError> | null;
  for (const [i, unspent] of unspents.entries()) {
    total += unspent.value;
    if (witnessProgram(unspent.script)) witness++;
    else legacy++;
    // Most of a large sum is passed over here, and what a size costs takes longer to work out than everything else.
    const isLast = i === unspents.length - 1;
    if (total < wanted && legacy + witness < roomy && !isLast) continue;
    let cost = costs(args, { legacy, witness });
    for (let dropped = unspents[from]; dropped && cost.vsize > MAX_STANDARD_VSIZE; dropped = unspents[from]) {
      total -= dropped.value;
      if (witnessProgram(dropped.script)) witness--;
      else legacy--;
      from++;
      cost = costs(args, { legacy, witness });
    }
    required = wanted + (feeFromChange ? cost.plain : 0n);
    if (total < required) continue;
    const built = complete(args, { spent: sliceUnspents(unspents, from, i + 1), sum: total }, cost, wanted);
    if (built && !(built.ok && built.value.change < (args.minChange ?? 0n))) return built;
    smallChange ??= built;
  }
  return smallChange ?? err({ kind: from > 0 ? "TooManyInputs" : "NotEnough", available: total, required });
}
