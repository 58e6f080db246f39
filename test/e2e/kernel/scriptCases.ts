import { sha256 } from "@noble/hashes/sha2.js";
import { seededRng } from "../../../src/adapters/virtualClock/seededRng.ts";
import { BITCOIN_CONSENSUS_FLAGS, SEGWIT_CONSENSUS_FLAGS } from "../../../src/chain/script/flags.ts";
import type { ScriptError } from "../../../src/chain/script/scriptError.ts";
import { createSignatureChecker } from "../../../src/chain/script/signatureChecker.ts";
import { verifyScript } from "../../../src/chain/script/verifyScript.ts";
import { chainSignatureHash } from "../../../src/chain/signatureHash.ts";
import { nobleVerify } from "../../../src/core/crypto/nobleVerifier.ts";
import { concatBytes, toHex } from "../../../src/core/util/bytes.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { claimScriptSig, refundScriptSig } from "../../../src/core/utxo/htlc.ts";
import { OP } from "../../../src/core/utxo/opcodes.ts";
import { p2pkhScript, p2shScript, p2wpkhScript, p2wshScript } from "../../../src/core/utxo/outputScript.ts";
import { pushBytes, pushMinimal } from "../../../src/core/utxo/script.ts";
import { signInputs, signScript, withInput } from "../../../src/core/utxo/signInput.ts";
import type { Tx } from "../../../src/core/utxo/tx.ts";
import { serializeTx } from "../../../src/core/utxo/txCodec.ts";
import { createChainWorld, SECRET, testContract, testKey } from "../../fakes/chainWorld.ts";

/** One script run, in the form the judge reads, and our verdict. */
export type JudgedScript = {
  readonly script: string;
  readonly tx: string;
  readonly index: number;
  readonly amount: number;
  readonly flags: number;
  readonly verdict: ScriptError | null;
};

const AMOUNT = 1_000_000n;
const PARAMS = createChainWorld("segwit", { initialBlocks: 0 }).chain.params;
const KEY = testKey("owner");
const CONTRACT = testContract(1_600_000_000);

/** Draws from a printed seed. */
class Draw {
  readonly #rng: ReturnType<typeof seededRng>;
  constructor(seed: number) {
    this.#rng = seededRng(seed);
  }
  below(n: number): number {
    return new DataView(this.#rng.bytes(4).slice().buffer).getUint32(0) % n;
  }
  bytes(n: number): Uint8Array {
    return this.#rng.bytes(n);
  }
  of<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error("nothing to draw from");
    return item;
  }
}

const CONDITIONALS = [OP.IF, OP.NOTIF, OP.ELSE, OP.ENDIF] as const;
/** Opcodes that keep a script alive: stack moves, numbers, hashes, comparisons. */
const USUAL = Array.from({ length: OP.CODESEPARATOR - OP.NOP + 1 }, (_, i) => OP.NOP + i).filter(
  (op) =>
    (op < OP.CAT || op > OP.RIGHT) &&
    (op < OP.INVERT || op > OP.XOR) &&
    op !== OP.OP_2MUL &&
    op !== OP.OP_2DIV &&
    (op < OP.MUL || op > OP.RSHIFT),
);

function instruction(draw: Draw): Uint8Array {
  const kind = draw.below(100);
  if (kind < 25) return Uint8Array.of(draw.of([OP.OP_0, OP.OP_1NEGATE, OP.OP_1, OP.OP_2, OP.OP_1 + 2, OP.OP_16]));
  if (kind < 40) return pushBytes(draw.bytes(draw.below(6)));
  if (kind < 43) return pushBytes(draw.of([KEY.publicKey, hash160(KEY.publicKey), SECRET, draw.bytes(80)]));
  if (kind < 50) return Uint8Array.of(draw.of(CONDITIONALS));
  if (kind < 94) return Uint8Array.of(draw.of(USUAL));
  if (kind < 97)
    return Uint8Array.of(draw.of([OP.CHECKSIG, OP.CHECKMULTISIG, OP.CHECKLOCKTIMEVERIFY, OP.CHECKSEQUENCEVERIFY, OP.NOP1, OP.NOP10]));
  return Uint8Array.of(draw.below(256));
}

const randomScript = (draw: Draw, most: number): Uint8Array =>
  concatBytes(...Array.from({ length: draw.below(most) }, () => instruction(draw)));
const randomPushes = (draw: Draw): Uint8Array[] => Array.from({ length: draw.below(6) }, () => draw.bytes(draw.below(5)));

type Spend = { readonly script: Uint8Array; readonly scriptSig?: Uint8Array; readonly witness?: readonly Uint8Array[] };

const plainTx = (draw: Draw): Tx => ({
  version: draw.of([1, 2, 0xffffffff]),
  inputs: [
    {
      txid: "aa".repeat(32),
      vout: 0,
      scriptSig: new Uint8Array(0),
      sequence: draw.of([0, 3, 0x400003, 0xfffffffe, 0xffffffff]),
      witness: [],
    },
  ],
  outputs: [{ value: 1n, script: Uint8Array.of(OP.OP_1) }],
  lockTime: draw.of([0, 100, 1_650_000_000, 0xffffffff]),
});

/** A random program, bare or wrapped, fed with random data. */
function programSpend(draw: Draw): Spend {
  const script = randomScript(draw, 14);
  const data = randomPushes(draw);
  const pushes = concatBytes(...data.map((d) => (draw.below(2) === 0 ? pushBytes(d) : pushMinimal(d))));
  switch (draw.below(4)) {
    case 0:
      return { script: p2shScript(hash160(script)), scriptSig: concatBytes(pushes, pushBytes(script)) };
    case 1:
      return { script: p2wshScript(sha256(script)), witness: [...data, script] };
    case 2:
      return { script, scriptSig: randomScript(draw, 4) };
    default:
      return { script, scriptSig: pushes };
  }
}

function mutate(draw: Draw, bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0 || draw.below(3) === 0) return bytes;
  const out = Uint8Array.from(bytes);
  const at = draw.below(out.length);
  switch (draw.below(4)) {
    case 0:
      out[at] = draw.below(256);
      return out;
    case 1:
      out[at] = (out[at] ?? 0) ^ (1 << draw.below(8));
      return out;
    case 2:
      return concatBytes(out.subarray(0, at), out.subarray(at + 1));
    default:
      return concatBytes(out.subarray(0, at), draw.bytes(1), out.subarray(at));
  }
}

/** A spend that is good, then usually damaged in one place. */
function damagedSpend(draw: Draw, base: Tx): { readonly tx: Tx; readonly script: Uint8Array } {
  const contract = CONTRACT;
  const spent = (script: Uint8Array) => [{ value: AMOUNT, script }];
  const sign = (code: Uint8Array, key = KEY) => signScript(base, 0, { value: AMOUNT, scriptCode: code }, key, PARAMS.scheme);
  let script: Uint8Array;
  let tx: Tx;
  switch (draw.below(4)) {
    case 0:
      script = p2pkhScript(hash160(KEY.publicKey));
      tx = signInputs(base, spent(script), KEY, PARAMS.scheme);
      break;
    case 1:
      script = p2wpkhScript(hash160(KEY.publicKey));
      tx = signInputs(base, spent(script), KEY, PARAMS.scheme);
      break;
    case 2:
      script = contract.script;
      tx = withInput(base, 0, { scriptSig: claimScriptSig(sign(contract.redeem, contract.claimer), SECRET, contract.redeem) });
      break;
    default:
      script = contract.script;
      tx = withInput(base, 0, { scriptSig: refundScriptSig(sign(contract.redeem, contract.refunder), contract.redeem) });
  }
  const [input] = tx.inputs;
  if (!input) throw new Error("a transaction without input");
  const damaged = withInput(tx, 0, {
    scriptSig: mutate(draw, input.scriptSig),
    witness: input.witness.map((w) => (draw.below(2) === 0 ? mutate(draw, w) : w)),
  });
  return { tx: damaged, script: draw.below(8) === 0 ? mutate(draw, script) : script };
}

/** Random and damaged spends with our verdict on each. A seed gives the same cases everywhere. */
export function scriptCases(seed: number, count: number): readonly JudgedScript[] {
  const draw = new Draw(seed);
  const hash = chainSignatureHash(PARAMS);
  return Array.from({ length: count }, () => {
    const base = plainTx(draw);
    let made: { readonly tx: Tx; readonly script: Uint8Array };
    if (draw.below(5) === 0) made = damagedSpend(draw, base);
    else {
      const { script, scriptSig = new Uint8Array(0), witness = [] } = programSpend(draw);
      made = { script, tx: withInput(base, 0, { scriptSig, witness }) };
    }
    const { tx, script } = made;
    const flags = draw.below(4) === 0 ? BITCOIN_CONSENSUS_FLAGS : SEGWIT_CONSENSUS_FLAGS;
    const [input] = tx.inputs;
    const checker = createSignatureChecker(tx, 0, AMOUNT, hash, { verify: nobleVerify });
    const verdict = verifyScript(input?.scriptSig ?? new Uint8Array(0), script, input?.witness ?? [], flags, checker);
    return { script: toHex(script), tx: toHex(serializeTx(tx)), index: 0, amount: Number(AMOUNT), flags, verdict };
  });
}
