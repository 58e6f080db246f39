import { beforeAll, expect, test } from "vitest";
import { buy, offer, type TradingWorld, tradingWorld } from "../sim/trade.ts";
import { captures, swapCaptures } from "../vectors/wire/wireVectors.ts";
import {
  bytesOf,
  fieldsOf,
  formOf,
  isSignedBy,
  type Node,
  type ProtoField,
  readMsgpack,
  readProto,
  rootOf,
  variantOf,
  writeMsgpack,
} from "./support/wireReader.ts";

/**
 * Everything two traders and a relay of ours write in a whole handshake and swap, read by another reader than our own
 * and compared with the tables of the wire reference and with what real processes of the other implementation wrote.
 */

type Frame = {
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
  readonly hex: string;
  readonly fields: readonly ProtoField[];
};
type Message = {
  readonly atMs: number;
  readonly from: string;
  readonly type: string;
  readonly topic: string;
  readonly key: string;
  readonly body: Node;
  readonly payload: Buffer;
};
type Exchange = { readonly from: string; readonly protocol: string; readonly payload: Buffer; readonly answer: Buffer };

const ORDER_TYPES = [
  "MakerOrderCreated",
  "MakerOrderUpdated",
  "PubkeyKeepAlive",
  "MakerOrderCancelled",
  "TakerRequest",
  "MakerReserved",
  "TakerConnect",
  "MakerConnected",
];
const SWAP_TYPES = ["Negotiation", "NegotiationReply", "Negotiated", "TakerFee", "MakerPayment", "TakerPayment"];

const frames: Frame[] = [];
const exchanges: Exchange[] = [];
const ids = new Map<string, string>();
let world: TradingWorld;
let swapUuid: string;

beforeAll(async () => {
  world = await tradingWorld({ seed: 20_261_121 }, (sim) => {
    sim.trace.tap = {
      frame: (from, to, frame) => {
        const bytes = Buffer.from(frame);
        frames.push({ atMs: sim.clock.nowMs(), from, to, hex: bytes.toString("hex"), fields: readProto(bytes) });
      },
      request: (from, _to, protocol, payload, answer) =>
        exchanges.push({ from, protocol, payload: Buffer.from(payload), answer: Buffer.from(answer) }),
    };
  });
  const { world: sim, maker, taker } = world;
  for (const node of [sim.node("relay"), maker, taker]) ids.set(node.name, node.p2p.peerId);
  for (const [volume, price] of [
    ["10", "0.5"],
    ["3", "0.75"],
    ["1.5", "0.33333333"],
  ] as const)
    await offer(sim, maker, volume, price);
  await sim.settle(taker.node.book.subscribePair("DOC", "MARTY"));
  await sim.advance(100_000);
  swapUuid = await buy(sim, taker, "3", "0.5");
  await sim.runUntil("both finish", () => [maker, taker].every((node) => node.outcome(swapUuid) !== null));
  await sim.settle(maker.node.orders.cancelAllOrders({ type: "All" }));
  await sim.advance(1_000);
}, 60_000);

const published = (frame: Frame): readonly Buffer[] => frame.fields.flatMap(({ field, bytes }) => (field === 2 && bytes ? [bytes] : []));
const text = (bytes: Buffer | undefined): string => (bytes ?? Buffer.alloc(0)).toString("latin1");

/** What a node has written itself, each message once, in order. */
function messages(): readonly Message[] {
  const seen = new Set<string>();
  return frames.flatMap((frame) =>
    published(frame).flatMap((bytes) => {
      const [author, data, seqno, topic] = readProto(bytes);
      const id = `${author?.bytes?.toString("hex")} ${seqno?.bytes?.toString("hex")}`;
      if (seen.has(id)) return [];
      seen.add(id);
      const [keyVariant, signature, payload] = fieldsOf(readMsgpack(data?.bytes ?? Buffer.alloc(0)));
      if (keyVariant === undefined || signature?.kind !== "bin" || payload?.kind !== "bin") throw new Error("no envelope");
      const { index, value } = variantOf(keyVariant);
      const key = bytesOf(value);
      expect([index, value.kind, key.length, signature.value.length]).toEqual([0, "bin", 33, 64]);
      expect(isSignedBy(key, signature.value, payload.value)).toBe(true);
      const body = readMsgpack(payload.value);
      const isOrder = text(topic?.bytes).startsWith("orbk/");
      const type = (isOrder ? ORDER_TYPES : SWAP_TYPES)[variantOf(body).index] ?? "unknown";
      return [
        {
          atMs: frame.atMs,
          from: frame.from,
          type,
          topic: text(topic?.bytes),
          key: key.toString("hex"),
          body: variantOf(body).value,
          payload: payload.value,
        },
      ];
    }),
  );
}

test("the relay's first frame to everybody is iamrelay and it never subscribes", () => {
  for (const name of ["maker", "taker"]) {
    const first = frames.find(({ from, to }) => from === "relay" && to === ids.get(name));
    expect(first?.hex).toBe("1a022801");
  }
  expect(frames.filter(({ from, fields }) => from === "relay" && fields.some(({ field }) => field === 1))).toEqual([]);
});

test("a light node says its health topic first, each subscription in a frame of its own, then inclusion with both members", () => {
  for (const name of ["maker", "taker"]) {
    const own = frames.filter(({ from }) => from === name);
    const topics = own.flatMap(({ fields }) => {
      const subscriptions = fields.filter(({ field }) => field === 1);
      if (subscriptions.length === 0) return [];
      expect(fields).toHaveLength(1);
      const [flag, topic] = readProto(subscriptions[0]?.bytes ?? Buffer.alloc(0));
      expect([flag?.field, topic?.field]).toEqual([1, 2]);
      return [`${flag?.varint} ${text(topic?.bytes)}`];
    });
    expect(topics[0]).toBe(`1 hcheck/${ids.get(name)}`);
    expect(topics).toContain("1 orbk/DOC:MARTY");
    expect(topics).toContain(`1 swap/${swapUuid}`);
    expect(own[0]?.fields[0]?.field).toBe(1);
    expect(own.find(({ fields }) => fields[0]?.field === 3)?.hex).toBe("1a06320408011001");
  }
});

test("the mesh size goes out every ten seconds, all run long", () => {
  for (const name of ["maker", "taker"]) {
    const sizes = frames.filter(({ from, hex }) => from === name && hex === "1a023801").map(({ atMs }) => atMs);
    expect(sizes.length).toBeGreaterThan(20);
    const gaps = new Set(sizes.slice(1).map((atMs, i) => atMs - (sizes[i] ?? 0)));
    expect([...gaps]).toEqual([10_000]);
  }
  const control = frames.filter(({ fields }) => fields.some(({ field }) => field === 3)).map(({ hex }) => hex);
  expect([...new Set(control)].sort()).toEqual(["1a022801", "1a023801", "1a06320408011001"]);
});

test("published messages: from, data, seqno of 8 bytes, topic, in this order; no signature, no key; one per frame", () => {
  let count = 0;
  for (const frame of frames) {
    for (const bytes of published(frame)) {
      count++;
      expect(frame.fields).toHaveLength(1);
      const fields = readProto(bytes);
      expect(fields.map(({ field }) => field)).toEqual([1, 2, 3, 4]);
      expect(fields[0]?.bytes?.subarray(0, 6).toString("hex")).toBe("002408011220");
      expect([fields[0]?.bytes?.length, fields[2]?.bytes?.length]).toEqual([38, 8]);
      expect(text(fields[3]?.bytes)).toMatch(new RegExp(`^(orbk/DOC:MARTY|swap/${swapUuid})$`));
    }
  }
  expect(count).toBeGreaterThan(20);
  // A relay never sends a message back to where it came from.
  const key = (frame: Frame): string => frame.hex;
  for (const frame of frames.filter(({ from, fields }) => from === "relay" && fields[0]?.field === 2)) {
    const source = frames.find((other) => other.from !== "relay" && key(other) === key(frame));
    expect(source && ids.get(source.from)).not.toBe(frame.to);
  }
});

test("every message has the form that recorded messages of its type have, down to integer forms and array kinds", () => {
  const recorded = new Map<string, Set<string>>();
  const learn = (type: string, payload: Buffer): void => {
    recorded.set(type, (recorded.get(type) ?? new Set()).add(formOf(readMsgpack(payload))));
  };
  for (const { type, data } of captures.gossip) {
    const payload = fieldsOf(readMsgpack(Buffer.from(data, "hex")))[2];
    if (payload?.kind === "bin") learn(type, payload.value);
  }
  for (const swap of swapCaptures) for (const { type, payload } of swap.messages) learn(type, Buffer.from(payload, "hex"));
  const written = messages();
  expect(new Set(written.map(({ type }) => type))).toEqual(new Set([...ORDER_TYPES, ...SWAP_TYPES]));
  for (const { type, payload } of written) {
    const node = readMsgpack(payload);
    expect([...(recorded.get(type) ?? [])], type).toContain(formOf(node));
    expect(writeMsgpack(node).equals(payload)).toBe(true);
  }
});

test("the handshake comes in its order on the pair's topic, the swap's messages on the swap's", () => {
  const written = messages();
  const handshake = written.filter(({ type }) => ORDER_TYPES.indexOf(type) >= 4);
  expect(handshake.map(({ from, type }) => `${from} ${type}`)).toEqual([
    "taker TakerRequest",
    "maker MakerReserved",
    "taker TakerConnect",
    "maker MakerConnected",
  ]);
  for (const { type, topic } of written) expect(topic).toBe(ORDER_TYPES.includes(type) ? "orbk/DOC:MARTY" : `swap/${swapUuid}`);
  const firstOf = (type: string): number => written.findIndex((m) => m.type === type);
  const order = SWAP_TYPES.map(firstOf);
  expect([...order].sort((a, b) => a - b)).toEqual(order);
  const update = written.find(({ type }) => type === "MakerOrderUpdated");
  expect(update && formOf(update.body)).toBe("[bin16, nil, rational, nil, int, ints8, nil]");
  // Roots are zeros in these, as the other implementation has them.
  for (const { type, body } of written) {
    const at = { MakerOrderCreated: 9, MakerOrderUpdated: 5, MakerOrderCancelled: 2 }[type];
    if (at !== undefined) expect(bytesOf(fieldsOf(body)[at]).toString("hex")).toBe("0000000000000000");
  }
  // Both sides follow the swap's topic before its first message.
  const firstSwap = frames.find((frame) => published(frame).some((bytes) => text(readProto(bytes)[3]?.bytes).startsWith("swap/")));
  for (const name of ["maker", "taker"]) {
    const joined = frames.find(
      ({ from, hex }) => from === name && hex.includes(Buffer.from(`swap/${swapUuid}`).toString("hex")) && hex.startsWith("0a"),
    );
    expect(joined?.atMs).toBeLessThanOrEqual(firstSwap?.atMs ?? 0);
  }
});

test("keep-alives: every 30 s while there are orders, one pair each, with the root worked out by other code from what was announced", () => {
  const makerKey = messages().find(({ type }) => type === "MakerOrderCreated")?.key ?? "";
  const items = new Map<string, Node[]>();
  const times: number[] = [];
  const uuidOf = (node: Node | undefined): string =>
    bytesOf(node)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const str = (value: string): Node => ({ kind: "str", value });
  for (const { type, body, atMs, from } of messages()) {
    if (!ORDER_TYPES.includes(type)) continue;
    const fields = fieldsOf(body);
    const uuid = fields[0]?.kind === "bin" ? uuidOf(fields[0]) : "";
    if (type === "MakerOrderCreated") {
      const [, base, rel, price, max, min, createdAt] = fields;
      if (!base || !rel || !price || !max || !min || !createdAt) throw new Error("field missing");
      items.set(uuid, [str(makerKey), base, rel, price, max, min, str(uuid), createdAt]);
    } else if (type === "MakerOrderUpdated") {
      const [item, max] = [items.get(uuid), fields[2]];
      if (item && max) item[4] = max;
    } else if (type === "MakerOrderCancelled") items.delete(uuid);
    else if (type === "PubkeyKeepAlive") {
      expect(from).toBe("maker");
      const [roots] = fields;
      const [entry] = roots?.kind === "map" ? roots.entries : [];
      expect(roots?.kind === "map" && roots.entries.length).toBe(1);
      expect(entry?.[0]).toEqual(str("DOC:MARTY"));
      const leaves = [...items].map(([id, item]) => ({ uuid: id, item: writeMsgpack({ kind: "array", items: item }) }));
      expect(bytesOf(entry?.[1]).toString("hex")).toBe(rootOf(leaves).toString("hex"));
      times.push(atMs);
    }
  }
  expect(times.length).toBeGreaterThan(5);
  expect(new Set(times.slice(1).map((atMs, i) => atMs - (times[i] ?? 0)))).toEqual(new Set([30_000]));
});

test("requests and answers have the recorded bytes or form: the clock on every connection, version of relays, the book", () => {
  const byPayload = (hex: string): readonly Exchange[] => exchanges.filter(({ payload }) => payload.toString("hex") === hex);
  const clock = byPayload("9195cc8101cc8101ccc0");
  expect(clock.map(({ from }) => from).sort()).toEqual(["maker", "relay", "relay", "taker"]);
  for (const { answer } of clock) expect(answer.toString("hex")).toMatch(/^81009195ccce(cc[89a-f].|[0-7].){4}$/);
  const version = byPayload("9195cc8101cc8100ccc0");
  expect(version.map(({ from }) => from).sort()).toEqual(["maker", "taker"]);
  const inner = (node: Node): Node => readMsgpack(bytesOf(fieldsOf(node)[0]));
  const forms = (what: string, read: (x: { request: string; answer: string | null }) => string): Set<string> =>
    new Set(captures.requests.flatMap((x) => (x.what === what && x.answer ? [read({ request: x.request, answer: x.answer })] : [])));
  const requestForm = (hex: string): string => formOf(inner(readMsgpack(Buffer.from(hex, "hex"))));
  const asked = exchanges.filter(({ protocol }) => protocol === "/request-response/2");
  const books = asked.filter(({ payload }) => requestForm(payload.toString("hex")) === "{0: {0: [str, str]}}");
  expect(books.length).toBeGreaterThan(0);
  expect(forms("GetOrderbook", ({ request }) => requestForm(request))).toEqual(new Set(["{0: {0: [str, str]}}"]));
  const answered = books
    .map(({ answer }) => inner(variantOf(readMsgpack(answer)).value))
    .find((answer) => formOf(answer) !== "[{}, {}, {}]");
  const item = "[str, str, str, rational, rational, rational, str, int]";
  const order = `[str, ${item}]`;
  expect(answered && formOf(answered)).toBe(
    `[{str: [int, ints0, [${order}, ${order}, ${order}]]}, {${Array(3).fill("str: [ints, ints]").join(", ")}}, {${Array(3).fill("str: [int, bool, int, bool]").join(", ")}}]`,
  );
  const recorded = [
    ...forms("GetOrderbook", ({ answer }) => formOf(inner(variantOf(readMsgpack(Buffer.from(answer ?? "", "hex"))).value))),
  ];
  expect(recorded.some((form) => form.startsWith(`[{str: [int, ints0, [[str, ${item}`))).toBe(true);
  // Peer exchange asks for twenty; who knows nobody says so with an empty map.
  const known = exchanges.filter(({ protocol }) => protocol !== "/request-response/2");
  expect(known.length).toBeGreaterThan(0);
  expect(known.map(({ payload }) => payload.toString("hex"))).toEqual(known.map(() => "81009114"));
  expect(known.map(({ answer }) => answer.toString("hex"))).toEqual(known.map(() => "81009180"));
});
