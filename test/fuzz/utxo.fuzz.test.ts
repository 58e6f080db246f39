import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { coinSupport } from "../../src/core/coin/coinSupport.ts";
import { passphraseToKeyPair } from "../../src/core/keys/iguana.ts";
import { verifyMessage } from "../../src/core/keys/signMessage.ts";
import { parseWif } from "../../src/core/keys/wif.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { type AddressRules, addressScript, addressText, parseAddress, scriptToAddress } from "../../src/core/utxo/address.ts";
import { classifySpend, extractSecret, parseRedeemScript, redeemScript } from "../../src/core/utxo/htlc.ts";
import { classifyOutput } from "../../src/core/utxo/outputScript.ts";
import { decodeScript, pushesOf, removeCodeSeparators } from "../../src/core/utxo/script.ts";
import { validateFee } from "../../src/core/utxo/swapTx.ts";
import { parseTx, serializeTx, type TxFormat, txid } from "../../src/core/utxo/txCodec.ts";
import { keyFacts } from "../vectors/keys/keyVectors.ts";
import { chainTxs, kdfFacts, recordedSwaps } from "../vectors/utxo/utxoVectors.ts";
import { RUNS, SEED, SLACK_BYTES, watchMemory } from "./support/fuzz.ts";

const options = { numRuns: RUNS, seed: SEED };
/** Each of these verifies a signature: about a millisecond. */
const SIGNATURE_RUNS = Math.min(RUNS, 2_000);

/** fast-check's verdict, and that the memory in use does not grow with the number of inputs. */
function check<T>(property: fc.IPropertyWithHooks<T>, parameters: { readonly numRuns: number; readonly seed: number }): void {
  const memory = watchMemory(SLACK_BYTES, parameters.numRuns);
  fc.assert(property.beforeEach(memory.tick), parameters);
  memory.check();
}

const FORMATS: readonly TxFormat[] = [
  { kind: "bitcoin" },
  { kind: "bitcoin", mweb: true },
  { kind: "bitcoin", specialTx: true },
  { kind: "bitcoin", specialTx: "version 3" },
  { kind: "sapling" },
];
const SEEDS = [
  ...recordedSwaps.flatMap((s) => [s.fee.hex, s.makerPayment.hex, s.takerPaymentSpend.hex]),
  ...Object.values(chainTxs).map((t) => t.hex),
  kdfFacts.sha256Swap.spend.hex,
].map(fromHex);

/** Bytes of a good item with a few of them overwritten, cut out or doubled. */
function mutated(items: readonly Uint8Array[]) {
  const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), kind: fc.constantFrom("set", "cut", "double") });
  return fc.tuple(fc.constantFrom(...items), fc.array(edit, { maxLength: 6 })).map(([item, edits]) => {
    const out = [...item];
    for (const { at, byte, kind } of edits) {
      const i = at % Math.max(out.length, 1);
      if (kind === "set") out[i] = byte;
      else if (kind === "cut") out.splice(i, 1 + (byte % 8));
      else out.splice(i, 0, ...out.slice(i, i + 1 + (byte % 8)));
    }
    return Uint8Array.from(out);
  });
}

const txBytes = fc.oneof({ weight: 4, arbitrary: mutated(SEEDS) }, { weight: 1, arbitrary: fc.uint8Array({ maxLength: 400 }) });

test("whatever the bytes, a transaction parses to exactly those bytes or is refused", () => {
  check(
    fc.property(txBytes, fc.constantFrom(...FORMATS), (bytes, format) => {
      const tx = parseTx(bytes, format);
      if (!tx.ok) return;
      expect(toHex(serializeTx(tx.value))).toBe(toHex(bytes));
      expect(txid(tx.value)).toMatch(/^[0-9a-f]{64}$/);
    }),
    options,
  );
});

test("whatever the transaction, looking for a spend, a secret or a fee in it ends without an exception", () => {
  const swap = recordedSwaps[0];
  if (!swap) throw new Error("no swap");
  const expected = {
    takerKey: fromHex(swap.takerKey),
    feeKey: fromHex(kdfFacts.feeKey),
    fee: 18018n,
    burn: 0n,
    scheme: { kind: "legacy" } as const,
  };
  check(
    fc.property(txBytes, fc.constantFrom(...FORMATS), (bytes, format) => {
      const tx = parseTx(bytes, format);
      if (!tx.ok) return;
      for (const input of tx.value.inputs) expect(["claim", "refund", "other"]).toContain(classifySpend(tx.value, input));
      extractSecret(tx.value, fromHex(swap.secretHash));
      validateFee(bytes, format, expected);
    }),
    options,
  );
});

const HASH = new Uint8Array(20).fill(3);
const RULES: readonly AddressRules[] = [
  { p2pkhPrefix: Uint8Array.of(0), p2shPrefix: Uint8Array.of(5), hrp: "bc", segwit: true, cashPrefix: null, format: "standard" },
  {
    p2pkhPrefix: Uint8Array.of(28, 184),
    p2shPrefix: Uint8Array.of(28, 189),
    hrp: null,
    segwit: false,
    cashPrefix: "bchtest",
    format: "cashaddress",
  },
];
const TEXTS = RULES.flatMap((rules) => [
  addressText({ kind: "p2pkh", hash: HASH }, rules),
  addressText({ kind: "p2sh", hash: HASH }, rules),
  ...(rules.hrp
    ? [addressText({ kind: "p2wpkh", hash: HASH }, rules), addressText({ kind: "p2tr", hash: new Uint8Array(32).fill(4) }, rules)]
    : []),
]);
const textBytes = (texts: readonly string[]) =>
  mutated(texts.map((t) => Uint8Array.from(t, (c) => c.charCodeAt(0)))).map((b) => String.fromCharCode(...b));
const anyText = (texts: readonly string[]) =>
  fc.oneof(textBytes(texts), fc.constantFrom(...texts), fc.string({ unit: "binary", maxLength: 200 }));

test("whatever the text, an address that is accepted pays where its own text says", () => {
  check(
    fc.property(anyText(TEXTS), fc.constantFrom(...RULES), (text, rules) => {
      const address = parseAddress(text, rules);
      if (!address.ok) return;
      const again = parseAddress(addressText(address.value, rules), rules);
      expect(again).toEqual(address);
      expect(scriptToAddress(addressScript(address.value), rules)).toBe(addressText(address.value, rules));
    }),
    options,
  );
});

test("whatever the text, keys and signatures are read or refused", () => {
  const texts = [keyFacts.seedA.wif188, `0x${keyFacts.seedA.secret}`, keyFacts.messages.komodoSeedA];
  check(
    fc.property(anyText(texts), (text) => {
      const wif = parseWif(text);
      if (wif.ok) expect(wif.value.secret.reveal().length).toBe(32);
      const pair = passphraseToKeyPair(text);
      if (pair.ok) expect(pair.value.publicKey.length).toBe(33);
      verifyMessage("p", "m", text, HASH);
    }),
    { ...options, numRuns: SIGNATURE_RUNS },
  );
});

test("whatever the script, its steps cover it, and a contract read from it makes the same script", () => {
  const scripts = [fromHex(kdfFacts.constructed.redeem), fromHex(kdfFacts.constructed.paymentScript), fromHex(chainTxs.zip243.script)];
  check(
    fc.property(fc.oneof(mutated(scripts), fc.uint8Array({ maxLength: 120 })), (script) => {
      const ops = decodeScript(script);
      if (ops) {
        expect(ops.reduce((at, o) => (o.start === at ? o.end : -1), 0)).toBe(script.length);
      }
      classifyOutput(script);
      pushesOf(script);
      expect(removeCodeSeparators(script).length).toBeLessThanOrEqual(script.length);
      const terms = parseRedeemScript(script);
      if (terms) expect(toHex(redeemScript(terms))).toBe(toHex(script));
    }),
    options,
  );
});

const KNOWN_KEYS = [
  ..."coin fname protocol mm2 wallet_only orderbook_ticker sign_message_prefix derivation_path decimals pubtype p2shtype wiftype".split(
    " ",
  ),
  ..."taddr segwit bech32_hrp address_format txfee dingo_fee dust txversion overwintered version_group_id fork_id isPoS".split(" "),
  ..."consensus_branch_id signature_version required_confirmations avg_blocktime min_trading_vol __proto__ constructor".split(" "),
];
const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    0,
    1,
    60,
    "0x40",
    "m/44'/141'",
    { type: "UTXO" },
    { type: "ETH" },
    { format: "segwit" },
    { format: "cashaddress", network: "x" },
    "0.1",
  ),
);

test("whatever the coins-file entry, it is read or refused, and what is read classifies", () => {
  const anyEntry = fc.array(fc.tuple(fc.constantFrom(...KNOWN_KEYS), anyValue), { maxLength: 12 }).map((fields) => ({
    coin: "X",
    protocol: { type: "UTXO" },
    ...Object.fromEntries(fields),
  }));
  check(
    fc.property(fc.oneof({ weight: 9, arbitrary: anyEntry as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anyValue }), (value) => {
      const entry = parseCoinEntry(value);
      if (entry.ok) expect(coinSupport(entry.value).tradeable).toBe(coinSupport(entry.value).reason === "");
      else expect(entry.error.kind).toBe("BadCoinEntry");
    }),
    options,
  );
});
