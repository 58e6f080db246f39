import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { schnorrVectors } from "../../../test/vectors/utxo/utxoVectors.ts";
import { fromHex } from "../util/bytes.ts";
import { hash160 } from "./hash.ts";
import { p2pkhScript, p2pkScript, p2wpkhScript } from "./outputScript.ts";
import { isSignature, isSignedInput, type SighashScheme, signInputs } from "./signInput.ts";
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

test.each(schnorrVectors)("a Schnorr signature is one where the Bitcoin Cash family has it: $signature", (vector) => {
  const { publicKey, digest, signature, isValid } = vector;
  const isOn = (scheme: SighashScheme): boolean =>
    isSignature(fromHex(`${signature}41`), fromHex(publicKey), scheme, () => fromHex(digest));
  expect([isOn({ kind: "forkid", forkNumber: 0 }), isOn({ kind: "legacy" })]).toEqual([isValid, false]);
});

test("an input of a transaction that no digest is defined of is signed by nobody", () => {
  const scheme: SighashScheme = { kind: "sapling", branchId: 0x76b809bb };
  const spent = { value: 5_000n, script: scripts.p2pkh };
  const input = { txid: "11".repeat(32), vout: 1, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  const draft: Tx = { version: 1, inputs: [input], outputs: [{ value: 4_000n, script: scripts.p2pkh }], lockTime: 0 };
  expect(isSignedInput(signInputs(draft, [spent], key, { kind: "legacy" }), 0, spent, key.publicKey, scheme)).toBe(false);
});

const SAPLING: Tx["sapling"] = { versionGroupId: 0x892f2085, expiryHeight: 0, valueBalance: 0n, shieldedTail: new Uint8Array(3) };

test.each([
  ["the Komodo family", scripts.p2pkh, { kind: "sapling", branchId: 0x76b809bb }, SAPLING],
  ["the Bitcoin Cash family", scripts.p2pkh, { kind: "forkid", forkNumber: 0 }, undefined],
  ["a coin with witnesses", scripts.p2wpkh, { kind: "legacy" }, undefined],
  ["a coin without any of this", scripts.p2pkh, { kind: "legacy" }, undefined],
] as const)(
  "hundreds of inputs of %s are signed, and looked at, without reading all of them for each",
  (_coin, script, scheme, sapling) => {
    const COUNT = 300;
    let read = 0;
    const inputs = Array.from({ length: COUNT }, (_, i) => ({
      get txid() {
        read++;
        return i.toString(16).padStart(64, "0");
      },
      vout: 1,
      scriptSig: new Uint8Array(0),
      sequence: 0xffffffff,
      witness: [],
    }));
    const outputs = [{ value: 4_000n, script: p2pkhScript(hash160(other.publicKey)) }];
    const tx: Tx = { version: sapling ? 4 : 1, inputs, outputs, lockTime: 0, ...(sapling ? { sapling } : {}) };
    const spent = { value: 5_000n, script };
    const signed = signInputs(
      tx,
      inputs.map(() => spent),
      key,
      scheme,
    );
    expect(read).toBeLessThan(5 * COUNT);
    // Each signature is over its own input and over all others: the shared part is of this transaction and of no other.
    for (const index of [0, COUNT - 1]) {
      expect(isSignedInput(signed, index, spent, key.publicKey, scheme)).toBe(true);
      const longer = { ...signed, inputs: [...signed.inputs, { ...inputs[0], txid: "ff".repeat(32) } as Tx["inputs"][number]] };
      expect(isSignedInput(longer, index, spent, key.publicKey, scheme)).toBe(false);
    }
  },
);
