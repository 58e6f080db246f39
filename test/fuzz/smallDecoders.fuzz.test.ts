import { expect, test } from "vitest";
import { parseDaemonUrl } from "../../src/adapters/jsonRpc/daemonUrl.ts";
import { parseBlock } from "../../src/chain/block.ts";
import { parseChainTxAt } from "../../src/chain/chainTx.ts";
import { parseAmount } from "../../src/chain/money.ts";
import { parseHash } from "../../src/chain/rpc/args.ts";
import { RpcError } from "../../src/chain/rpc/rpcError.ts";
import { parseDerSignature } from "../../src/chain/script/signatureEncoding.ts";
import { parseCoins } from "../../src/config/coinsFile.ts";
import { parseRelayRecord, relayRecordToJson } from "../../src/core/book/relayGrade.ts";
import { parseAscii } from "../../src/core/gossip/asciiText.ts";
import { parseMessageId } from "../../src/core/gossip/messageId.ts";
import { parsePeerIdText } from "../../src/core/gossip/peerId.ts";
import { parseAddressPath } from "../../src/core/keys/hd.ts";
import { parseWif } from "../../src/core/keys/wif.ts";
import { parseDecimal } from "../../src/core/money/rational.ts";
import { NEW_PEER } from "../../src/core/peers/peerRecord.ts";
import { parsePeerRecord, peerRecordToJson } from "../../src/core/peers/peerRecordJson.ts";
import { parseHeader, parseHeaders } from "../../src/core/proof/blockHeader.ts";
import { type HeaderRules, NOTHING_KNOWN } from "../../src/core/proof/headerRules.ts";
import { parseHex, toHex } from "../../src/core/util/bytes.ts";
import { parseUtf8 } from "../../src/core/util/utf8.ts";
import { parseCashAddr } from "../../src/core/utxo/cashAddr.ts";
import { parseTxAt, serializeTx } from "../../src/core/utxo/txCodec.ts";
import { parseJson } from "../../src/rpc/parseJson.ts";
import { startScriptedChain } from "../contract/scriptedChain.ts";
import { scriptNumber, spendOf } from "../contract/spendable.ts";
import { headerVectors } from "../vectors/headers/headerVectors.ts";
import { keyFacts } from "../vectors/keys/keyVectors.ts";
import { mutateBytes, mutateText, RUNS, SEED, source, watchMemory } from "./support/fuzz.ts";

const FORMAT = { kind: "bitcoin" } as const;
const MAX_ASCII = 256;
const HASH = "ab".repeat(32);
function parsedHex(text: string): Uint8Array {
  const bytes = parseHex(text);
  if (!bytes.ok) throw new Error("a vector is not hex");
  return bytes.value;
}
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const tx = serializeTx(spendOf(FORMAT, 1, [{ txid: HASH, vout: 0, value: 20_000n }], scriptNumber(1)));
const chain = startScriptedChain(1);
const DER = Uint8Array.from([0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x07, 0x01]);
/** Every layout, so that damaged bytes are tried as each. */
const HEADERS: HeaderRules = {
  ...NOTHING_KNOWN,
  layouts: ["plain", "auxpow", "progpow", "accumulator", "equihash"],
  work: { kind: "unchecked", reason: "test" },
};
const bitcoinHeaders = parsedHex(headerVectors.bitcoin.headers.join(""));
const dogecoinHeaders = parsedHex(headerVectors.dogecoin.headers.join(""));
const zcashHeaders = parsedHex(headerVectors.zcash.headers.join(""));
/** A refusal this decoder makes by throwing: its caller answers it. */
const refusal = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof RpcError) return null;
    throw cause;
  }
};

/** What a decoder made of its input: `null`, `undefined` and a failed Result are refusals. */
const isRead = (outcome: unknown): boolean =>
  typeof outcome === "object" && outcome !== null && "ok" in outcome ? outcome.ok === true : outcome !== null && outcome !== undefined;

const TEXTS: readonly (readonly [name: string, good: readonly string[], parse: (text: string) => unknown])[] = [
  ["parseDecimal", ["1", ".5", "1_000.25e-3", "99999999999999999999.123456789", "1e1000"], parseDecimal],
  ["parseHex", ["", "00ff", HASH], parseHex],
  ["parseCashAddr", ["bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"], (t) => parseCashAddr(t, "bitcoincash")],
  ["parsePeerIdText", ["12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"], parsePeerIdText],
  ["parseAddressPath", ["m/44'/141'/0'/0/7"], (t) => parseAddressPath("m/44'/141'", t)],
  ["parseDaemonUrl", ["http://user:pa%20ss@127.0.0.1:8332/wallet", "https://a:b@[::1]:1"], (t) => parseDaemonUrl(t)],
  ["parseWif", [keyFacts.seedA.wif188], parseWif],
  ["parseAmount of the development chain", ["1.5", "0.00000001", "20999999"], parseAmount],
  ["parseHash of the development chain", [HASH], (t) => refusal(() => parseHash(t, "txid"))],
  ["parseRelayRecord", [relayRecordToJson({ points: 3, atMs: 1_700_000_000_000 })], parseRelayRecord],
  ["parsePeerRecord", [peerRecordToJson(NEW_PEER)], parsePeerRecord],
  ["parseCoins", ["[]", '[{"coin":"DOC","protocol":{"type":"UTXO"}}]'], (t) => (t.startsWith("[") ? parseCoins(jsonOf(t), "coins") : null)],
];
const BYTES: readonly (readonly [name: string, good: readonly Uint8Array[], parse: (bytes: Uint8Array) => unknown])[] = [
  ["parseUtf8", [utf8("plain"), utf8("é€😀 mixed")], parseUtf8],
  ["parseAscii", [utf8("orbk/A:B")], (b) => parseAscii(b, MAX_ASCII)],
  ["parseMessageId", [new Uint8Array(8).fill(7)], parseMessageId],
  ["parseDerSignature", [DER], parseDerSignature],
  ["parseTxAt", [tx], (b) => parseTxAt(b, 0, FORMAT)],
  ["parseHeaders", [bitcoinHeaders, zcashHeaders, dogecoinHeaders], (b) => parseHeaders(b, HEADERS)],
  ["parseHeader", [bitcoinHeaders.slice(0, 80), zcashHeaders.slice(0, 1_487)], (b) => parseHeader(b, HEADERS)],
  ["parseChainTxAt", [tx], (b) => parseChainTxAt(b, 0, FORMAT)],
  ["parseBlock of the development chain", [chain.daemon.rawBlock(1)], (b) => parseBlock(b, FORMAT)],
  ["parseJson", [utf8('{"a":[1,-2.5e3,"é\\u00e9",null,true,{"b":18446744073709551615}]}')], parseJson],
];

/** Undefined where the text is not JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fuzz<T>(good: readonly T[], change: (good: T) => T, parse: (input: T) => unknown, show: (input: T) => string): void {
  const memory = watchMemory();
  for (const input of good) expect(isRead(parse(input)), show(input)).toBe(true);
  const pick = source(SEED);
  for (let i = 0; i < RUNS; i++) {
    memory.tick();
    const input = change(good[pick(good.length)] as T);
    try {
      parse(input);
    } catch (cause) {
      throw new Error(`input ${i}: ${show(input)}`, { cause });
    }
  }
  memory.check();
}

test.each(TEXTS)(`%s: ${RUNS} damaged texts (seed ${SEED}) are read or refused, never thrown at`, (_name, good, parse) => {
  const pick = source(SEED + 1);
  fuzz(good, (text) => mutateText(text, pick), parse, JSON.stringify);
});

test.each(BYTES)(`%s: ${RUNS} damaged inputs (seed ${SEED}) are read or refused, never thrown at`, (_name, good, parse) => {
  const pick = source(SEED + 1);
  fuzz(good, (bytes) => mutateBytes(bytes, pick), parse, toHex);
});
