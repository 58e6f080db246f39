import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { concatBytes, fromHex, toHex } from "../util/bytes.ts";
import { CONTROL_FIELDS, encodeFrame, MAX_FRAME_BYTES } from "./frame.ts";
import { messageId, messageIdBytes, parseMessageId } from "./messageId.ts";
import { parseFrame } from "./parseFrame.ts";

type Vectors = {
  messageIds: { data: string; seqno: string; id: string }[];
  controlFrames: { from: string; frame: string }[];
  messageFrames: { type: string; topic: string; from: string; seqno: string; id: string; frame: string }[];
};
const vectors: Vectors = JSON.parse(readFileSync(new URL("../../../test/vectors/gossip/kdf.json", import.meta.url), "utf8"));

/** Cuts the length prefix off and checks it. */
function withoutPrefix(frame: string): Uint8Array {
  const bytes = fromHex(frame);
  const prefix = (bytes[0] ?? 0) < 0x80 ? 1 : 2;
  const length = (bytes[0] ?? 0) < 0x80 ? bytes[0] : ((bytes[0] ?? 0) & 0x7f) + (bytes[1] ?? 0) * 128;
  expect(bytes.length - prefix).toBe(length);
  return bytes.subarray(prefix);
}

test.each([...vectors.controlFrames, ...vectors.messageFrames])("a recorded frame encodes again to the same bytes (%#)", ({ frame }) => {
  const bytes = withoutPrefix(frame);
  const parsed = parseFrame(bytes);
  if (!parsed.ok) throw new Error(parsed.error.why);
  expect(parsed.value.invalidMessages).toBe(0);
  expect(parsed.value.unknownControl).toEqual([]);
  expect(toHex(encodeFrame(parsed.value))).toBe(toHex(bytes));
});

test.each(vectors.messageFrames)("a recorded $type has the recorded author, number, topic and id", (vector) => {
  const parsed = parseFrame(withoutPrefix(vector.frame));
  const message = parsed.ok ? parsed.value.publish?.[0] : undefined;
  if (message === undefined) throw new Error("no message");
  expect(message.topic).toBe(vector.topic);
  expect(toHex(message.from ?? new Uint8Array())).toBe(vector.from);
  expect(toHex(message.seqno ?? new Uint8Array())).toBe(vector.seqno);
  expect(toHex(messageIdBytes(messageId(message.data, message.seqno)))).toBe(vector.id);
});

test.each(vectors.messageIds)("message id $id", ({ data, seqno, id }) => {
  const hash = messageId(fromHex(data), fromHex(seqno.slice(2)));
  expect(toHex(messageIdBytes(hash))).toBe(id);
  expect(parseMessageId(fromHex(id))).toEqual(hash);
});

test("a message without sequence number has another id than one with number zero", () => {
  expect(messageId(fromHex("616263"), undefined)).not.toEqual(messageId(fromHex("616263"), new Uint8Array(8)));
});

test("iamrelay, inclusion and mesh size stand on fields 5, 6 and 7, both members of 6 even when zero", () => {
  expect(CONTROL_FIELDS).toEqual({ iAmRelay: 5, includedToRelaysMesh: 6, meshSize: 7 });
  expect(toHex(encodeFrame({ control: { iAmRelay: true } }))).toBe("1a022801");
  expect(toHex(encodeFrame({ control: { included: { included: false, meshSize: 0 } } }))).toBe("1a06320408001000");
  expect(toHex(encodeFrame({ control: { meshSize: 3 } }))).toBe("1a023803");
});

test("unknown control fields are reported with number and wire type and do not hide the known ones", () => {
  // field 9 varint, field 10 bytes, then iamrelay
  const parsed = parseFrame(fromHex("1a0748015201aa2801"));
  if (!parsed.ok) throw new Error("refused");
  expect(parsed.value.unknownControl).toEqual([
    { field: 9, wireType: 0 },
    { field: 10, wireType: 2 },
  ]);
  expect(parsed.value.control).toEqual({ iAmRelay: true });
});

test("a known control field with another wire type counts as unknown", () => {
  const parsed = parseFrame(fromHex("1a042a02aaaa"));
  expect(parsed).toMatchObject({ ok: true, value: { control: {}, unknownControl: [{ field: 5, wireType: 2 }] } });
});

test("all entries of a control message survive a round trip", () => {
  const ids = [fromHex("0102030405060708"), fromHex("1112131415161718")];
  const control = {
    ihave: [{ topic: "orbk/A:B", ids }],
    iwant: [ids],
    graft: ["orbk/A:B"],
    prune: [{ topic: "orbk/A:B", backoffSec: 60 }, { topic: "orbk/A:C" }],
    iAmRelay: false,
    included: { included: true, meshSize: 300 },
    meshSize: 1_000_000,
  };
  const parsed = parseFrame(encodeFrame({ control }));
  expect(parsed).toMatchObject({ ok: true, value: { control } });
});

test("two control fields in one frame are merged", () => {
  const parsed = parseFrame(fromHex("1a0228011a023803"));
  expect(parsed).toMatchObject({ ok: true, value: { control: { iAmRelay: true, meshSize: 3 } } });
});

test("a sequence number of another length than eight bytes makes the message invalid, an empty one counts as absent", () => {
  const bad = encodeFrame({ publish: [{ data: fromHex("61"), seqno: fromHex("01020304"), topic: "t" }] });
  expect(parseFrame(bad)).toMatchObject({ ok: true, value: { publish: [], invalidMessages: 1 } });
  const empty = encodeFrame({ publish: [{ data: fromHex("61"), seqno: new Uint8Array(0), topic: "t" }] });
  expect(parseFrame(empty)).toMatchObject({ ok: true, value: { publish: [{ topic: "t" }], invalidMessages: 0 } });
});

test.each([
  ["cut in the middle of a varint", "1a028a"],
  ["a length past the end", "0a7f0801"],
  ["a group, which protobuf dropped", "0b"],
  ["field number zero", "0000"],
  ["a broken message inside", "12020aff"],
  ["a broken subscription inside", "0a02127f"],
  ["a broken control entry inside", "1a040a020a7f"],
  ["a varint of eleven bytes", "1a0d28ffffffffffffffffffff01"],
])("refuses %s", (_name, hex) => {
  expect(parseFrame(fromHex(hex))).toEqual({ ok: false, error: { kind: "BadFrame", why: "protobuf" } });
});

test("a message without topic, or with a topic that is no printable ASCII, is left out and counted", () => {
  expect(parseFrame(fromHex("1203120161"))).toMatchObject({ ok: true, value: { invalidMessages: 1 } });
  expect(parseFrame(fromHex("12061201612201ff"))).toMatchObject({ ok: true, value: { invalidMessages: 1 } });
});

test("a frame over the size limit, with too many subscriptions or too many ids is refused", () => {
  expect(parseFrame(new Uint8Array(MAX_FRAME_BYTES + 1))).toMatchObject({ error: { why: "size" } });
  const subscriptions = Array.from({ length: 5001 }, () => ({ subscribe: true, topic: "t" }));
  expect(parseFrame(encodeFrame({ subscriptions }))).toMatchObject({ error: { why: "count" } });
  const ids = Array.from({ length: 10_001 }, () => new Uint8Array(8));
  expect(parseFrame(encodeFrame({ control: { iwant: [ids] } }))).toMatchObject({ error: { why: "count" } });
});

test("limits count over all control fields of a frame, and half a million empty ones are read at once", { timeout: 5_000 }, () => {
  const ids = encodeFrame({ control: { iwant: [Array.from({ length: 6000 }, () => new Uint8Array(8))] } });
  expect(parseFrame(ids).ok).toBe(true);
  expect(parseFrame(concatBytes(ids, ids))).toEqual({ ok: false, error: { kind: "BadFrame", why: "count" } });
  const grafts = encodeFrame({ control: { graft: Array.from({ length: 4900 }, () => "t") } });
  const frame = concatBytes(
    grafts,
    new Uint8Array(980_000).map((_, i) => (i % 2 === 0 ? 0x1a : 0)),
  );
  for (let i = 0; i < 10; i++) expect(parseFrame(frame)).toMatchObject({ ok: true, value: { control: { graft: { length: 4900 } } } });
});
