import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { hash160 } from "./hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "./outputScript.ts";
import { isSignedInput, type SighashScheme, signInputs } from "./signInput.ts";
import type { Tx } from "./tx.ts";

const key = testKey("signer");
const other = testKey("another");
const scripts = {
  p2pkh: p2pkhScript(hash160(key.publicKey)),
  p2pk: p2pkScript(key.publicKey),
  p2wpkh: p2wpkhScript(hash160(key.publicKey)),
};
const SCHEMES: readonly SighashScheme[] = [{ kind: "legacy" }, { kind: "forkid", forkNumber: 0 }];

test.each(Object.entries(scripts).flatMap(([kind, script]) => SCHEMES.map((scheme) => [kind, scheme.kind, script, scheme] as const)))(
  "an input that spends %s under the %s scheme is known as signed by its key over all of its transaction, and by no other",
  (_kind, _scheme, script, scheme) => {
    const spent = { value: 5_000n, script };
    const input = { txid: "11".repeat(32), vout: 1, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    const draft: Tx = {
      version: 1,
      inputs: [input],
      outputs: [{ value: 4_000n, script: p2pkhScript(hash160(other.publicKey)) }],
      lockTime: 0,
    };
    const signed = signInputs(draft, [spent], key, scheme);
    const is = (tx: Tx, publicKey = key.publicKey): boolean => isSignedInput(tx, 0, spent, publicKey, scheme);
    expect(is(signed)).toBe(true);
    expect(is(signed, other.publicKey)).toBe(false);
    expect(is(draft)).toBe(false);
    expect(is({ ...signed, outputs: [{ value: 4_001n, script: p2pkhScript(hash160(other.publicKey)) }] })).toBe(false);
    expect(is({ ...signed, inputs: [] })).toBe(false);
    const [first] = signed.inputs;
    const [bytes, at] = first && first.witness.length > 0 ? [first.witness[0], 0] : [first?.scriptSig, 1];
    const spoilt = Uint8Array.from(bytes ?? []);
    spoilt[at + 8] = (spoilt[at + 8] ?? 0) ^ 1;
    const inputs = first && [first.witness.length > 0 ? { ...first, witness: [spoilt, key.publicKey] } : { ...first, scriptSig: spoilt }];
    expect(is({ ...signed, inputs: inputs ?? [] })).toBe(false);
  },
);
