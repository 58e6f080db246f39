import * as fc from "fast-check";
import { Transaction } from "micro-eth-signer";
import { expect, test } from "vitest";
import { addressFromBytes, addressOfPubkey, checksumAddress, type EvmAddress, ZERO_ADDRESS } from "../../src/core/evm/address.ts";
import { MAX_EVM_TX_BYTES, parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { encodeRlp, parseRlp, type RlpItem, rlpUint } from "../../src/core/evm/rlp.ts";
import { signEvmTx } from "../../src/core/evm/signTx.ts";
import type { SignableTx } from "../../src/core/evm/tx.ts";
import { serializeEvmTx } from "../../src/core/evm/txFields.ts";
import { keyPairFromScalar } from "../../src/core/keys/keyPair.ts";
import { concatBytes, fromHex, toHex } from "../../src/core/util/bytes.ts";

const KEY = keyPairFromScalar(new Uint8Array(32).fill(7)) ?? expect.fail("a bad key");
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const someAddress: fc.Arbitrary<EvmAddress> = bytes(20).map(addressFromBytes);
const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n });
const common = {
  chainId: fc.bigInt({ min: 1n, max: 2n ** 40n }),
  nonce: fc.bigInt({ min: 0n, max: 2n ** 32n }),
  gasLimit: fc.bigInt({ min: 21_000n, max: 30_000_000n }),
  to: someAddress,
  value: uint(96n),
  data: fc.uint8Array({ maxLength: 300 }),
};
const accessList = fc.array(fc.record({ address: someAddress, storageKeys: fc.array(bytes(32), { maxLength: 3 }) }), { maxLength: 3 });
const price = fc.bigInt({ min: 1n, max: 10n ** 12n });
const anyTx: fc.Arbitrary<SignableTx> = fc.oneof(
  fc.record({ type: fc.constant("legacy" as const), gasPrice: price, ...common }),
  fc.record({ type: fc.constant("eip2930" as const), gasPrice: price, accessList, ...common }),
  fc
    .record({ type: fc.constant("eip1559" as const), maxFeePerGas: price, maxPriorityFeePerGas: price, accessList, ...common })
    .map((tx) => (tx.maxPriorityFeePerGas > tx.maxFeePerGas ? { ...tx, maxPriorityFeePerGas: tx.maxFeePerGas } : tx)),
);

test("what is signed is read back field by field, with its sender and id", () => {
  fc.assert(
    fc.property(anyTx, (tx) => {
      const signed = signEvmTx(tx, KEY);
      expect(parseEvmTx(signed.raw)).toEqual({ ok: true, value: signed });
      expect(signed.from).toBe(addressOfPubkey(KEY.publicKey));
      expect(signEvmTx(tx, KEY).raw).toEqual(signed.raw);
    }),
    { numRuns: 60 },
  );
});

test("another implementation signs the same bytes and reads the same sender and id", () => {
  fc.assert(
    fc.property(anyTx, (tx) => {
      const { type, to, data, ...numbers } = tx;
      const { accessList: list, ...rest } = { accessList: [], ...numbers };
      const raw = { ...rest, to: checksumAddress(to ?? ZERO_ADDRESS), data: data.length === 0 ? "" : `0x${toHex(data)}` };
      const lists = list.map(({ address, storageKeys }) => ({
        address: checksumAddress(address),
        storageKeys: storageKeys.map((k) => `0x${toHex(k)}`),
      }));
      const theirs = Transaction.prepare({ type, ...raw, ...(type === "legacy" ? {} : { accessList: lists }) } as never, false).signBy(
        `0x${toHex(KEY.secret.reveal())}`,
        false,
      );
      const ours = signEvmTx(tx, KEY);
      expect(`0x${toHex(ours.raw)}`).toBe(theirs.toHex());
      expect(`0x${ours.txid}`.slice(2)).toBe(theirs.hash.replace(/^0x/, ""));
      expect(checksumAddress(ours.from)).toBe(theirs.sender);
    }),
    { numRuns: 40 },
  );
});

const TX: SignableTx = {
  type: "eip1559",
  chainId: 1n,
  nonce: 1n,
  maxFeePerGas: 100n,
  maxPriorityFeePerGas: 2n,
  gasLimit: 21_000n,
  to: ZERO_ADDRESS,
  value: 5n,
  data: new Uint8Array(0),
  accessList: [],
};
const detail = (raw: Uint8Array): string => {
  const parsed = parseEvmTx(raw);
  return parsed.ok ? "taken" : parsed.error.kind === "Unsupported" ? `type ${parsed.error.type}` : parsed.error.detail;
};

test("the other signature of the same transaction, with a high s, is refused: it would have another id", () => {
  const { r, s, yParity } = signEvmTx(TX, KEY).signature;
  expect(detail(serializeEvmTx(TX, { r, s: GROUP_ORDER - s, yParity: yParity === 0 ? 1 : 0 }))).toBe("a bad signature");
  expect(detail(serializeEvmTx(TX, { r: 0n, s, yParity }))).toBe("a bad signature");
  expect(detail(serializeEvmTx(TX, { r, s: 0n, yParity }))).toBe("a bad signature");
  expect(detail(serializeEvmTx(TX, { r: GROUP_ORDER, s, yParity }))).toBe("a bad signature");
  expect(detail(serializeEvmTx(TX, { r: 5n, s, yParity }))).toBe("a signature nobody can have made");
});

test("only the canonical form passes: leading zeros, long lengths, missing or extra fields and data are refused", () => {
  const { raw } = signEvmTx(TX, KEY);
  const list = parseRlp(raw.subarray(1));
  if (!list.ok || list.value instanceof Uint8Array) expect.fail("no list");
  const fields: readonly RlpItem[] = list.value;
  const with_ = (at: number, item: RlpItem): Uint8Array =>
    concatBytes(Uint8Array.of(2), encodeRlp(fields.map((field, i) => (i === at ? item : field))));
  expect(detail(with_(1, Uint8Array.of(0, 1)))).toBe("nonce is not a number");
  expect(detail(with_(1, Uint8Array.of(0)))).toBe("nonce is not a number");
  expect(detail(with_(1, rlpUint(2n ** 64n - 1n)))).toBe("nonce is too large");
  expect(detail(with_(1, []))).toBe("nonce is not a text of bytes");
  expect(detail(with_(2, rlpUint(101n)))).toBe("the priority fee is above the fee cap");
  expect(detail(with_(4, rlpUint(2n ** 64n)))).toBe("gas limit is too large");
  expect(detail(with_(5, new Uint8Array(19)))).toBe("to is not an address");
  expect(detail(with_(6, new Uint8Array(33).fill(1)))).toBe("value is not a number");
  expect(detail(with_(8, [[new Uint8Array(20)]]))).toBe("a bad access list");
  expect(detail(with_(8, [[new Uint8Array(20), [new Uint8Array(31)]]]))).toBe("a bad storage key");
  expect(detail(with_(8, new Uint8Array(1)))).toBe("no access list");
  expect(detail(with_(9, rlpUint(2n)))).toBe("y parity is too large");
  expect(detail(concatBytes(Uint8Array.of(2), encodeRlp(fields.slice(0, -1))))).toBe("another number of fields");
  expect(detail(concatBytes(raw, Uint8Array.of(0)))).toBe("data after the end");
  expect(detail(raw.subarray(0, -1))).toBe("a length beyond the data");
  expect(detail(concatBytes(Uint8Array.of(3), raw.subarray(1)))).toBe("type 3");
  expect(detail(new Uint8Array(0))).toBe("unexpected end of data");
  expect(detail(new Uint8Array(MAX_EVM_TX_BYTES + 1))).toBe(`more than ${MAX_EVM_TX_BYTES} bytes`);
  const legacy: SignableTx = {
    type: "legacy",
    chainId: 1n,
    nonce: 0n,
    gasPrice: 1n,
    gasLimit: 1n,
    to: null,
    value: 0n,
    data: new Uint8Array(0),
  };
  const old = encodeRlp([...Array.from({ length: 6 }, () => new Uint8Array(0)), rlpUint(30n), rlpUint(1n), rlpUint(1n)]);
  expect(detail(old)).toBe("v is out of range");
  expect(parseEvmTx(signEvmTx(legacy, KEY).raw)).toMatchObject({ ok: true, value: { tx: { to: null } } });
});

test("lists nested without end, or of very many items, are refused", () => {
  const deep = (n: number): RlpItem => (n === 0 ? [] : [deep(n - 1)]);
  expect(parseRlp(encodeRlp(deep(3))).ok).toBe(true);
  expect(parseRlp(encodeRlp(deep(4)))).toEqual({ ok: false, error: { kind: "BadRlp", detail: "lists nested too deep" } });
  expect(parseRlp(encodeRlp(Array.from({ length: 10_000 }, () => new Uint8Array(1))))).toEqual({
    ok: false,
    error: { kind: "BadRlp", detail: "too many items" },
  });
});

test("the encoding's own examples, and its non-canonical forms", () => {
  const cat = Uint8Array.of(0x63, 0x61, 0x74);
  expect(toHex(encodeRlp([cat, cat]))).toBe("c88363617483636174");
  expect(toHex(encodeRlp(new Uint8Array(0)))).toBe("80");
  expect(toHex(encodeRlp(Uint8Array.of(15)))).toBe("0f");
  expect(toHex(encodeRlp(new Uint8Array(56))).slice(0, 4)).toBe("b838");
  expect(toHex(encodeRlp(new Uint8Array(1024))).slice(0, 6)).toBe("b90400");
  for (const bad of ["8100", "817f", "b80101", "b83700", "b9003800", "f80101", "bfffffffffffffffff", "c2", "81", "b8", "c100ff"])
    expect(parseRlp(fromHex(bad)).ok, bad).toBe(false);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.uint8Array({ maxLength: 60 }), (a, b) => {
      expect(parseRlp(encodeRlp([a, [b, a]]))).toEqual({ ok: true, value: [a, [b, a]] });
    }),
  );
});
