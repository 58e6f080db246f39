import { err, ok, type Result } from "../util/result.ts";
import { parseAscii } from "./asciiText.ts";
import {
  CONTROL_FIELDS,
  type Control,
  type FrameError,
  MAX_TOPIC_BYTES,
  type Prune,
  type RelayInclusion,
  type UnknownControlField,
} from "./frame.ts";
import { ProtoReader } from "./protobuf.ts";

/** Message ids in all IHAVE and IWANT entries of a frame; entries of all kinds; unknown fields reported. */
const MAX_IDS = 10_000;
const MAX_ENTRIES = 5000;
const MAX_UNKNOWN = 16;

/**
 * Reads one control message.
 *
 * @param earlier what an earlier control field of the same frame said; protobuf merges repeated messages
 * @param unknown receives fields this node does not know, up to 16
 */
export function parseControl(bytes: Uint8Array, earlier: Control | undefined, unknown: UnknownControlField[]): Result<Control, FrameError> {
  const ihave = [...(earlier?.ihave ?? [])];
  const iwant = [...(earlier?.iwant ?? [])];
  const graft = [...(earlier?.graft ?? [])];
  const prune: Prune[] = [...(earlier?.prune ?? [])];
  let iAmRelay = earlier?.iAmRelay;
  let included = earlier?.included;
  let meshSize = earlier?.meshSize;
  let idCount = 0;
  let broken = false;
  const r = new ProtoReader(bytes);
  while (r.next()) {
    if (r.field === 1 && r.wire === 2) {
      const entry = parseEntry(r.bytes(), 1, 2);
      broken ||= entry.broken;
      idCount += entry.ids.length;
      if (entry.topic !== undefined) ihave.push({ topic: entry.topic, ids: entry.ids });
    } else if (r.field === 2 && r.wire === 2) {
      const entry = parseEntry(r.bytes(), 0, 1);
      broken ||= entry.broken;
      idCount += entry.ids.length;
      iwant.push(entry.ids);
    } else if (r.field === 3 && r.wire === 2) {
      const entry = parseEntry(r.bytes(), 1, 0);
      broken ||= entry.broken;
      if (entry.topic !== undefined) graft.push(entry.topic);
    } else if (r.field === 4 && r.wire === 2) {
      const entry = parseEntry(r.bytes(), 1, 0);
      broken ||= entry.broken;
      const { topic, backoffSec } = entry;
      if (topic !== undefined) prune.push(backoffSec === undefined ? { topic } : { topic, backoffSec });
    } else if (r.field === CONTROL_FIELDS.iAmRelay && r.wire === 0) iAmRelay = r.varint() !== 0;
    else if (r.field === CONTROL_FIELDS.includedToRelaysMesh && r.wire === 2) {
      included = parseInclusion(r.bytes());
      broken ||= included === undefined;
    } else if (r.field === CONTROL_FIELDS.meshSize && r.wire === 0) meshSize = r.varint();
    else {
      if (unknown.length < MAX_UNKNOWN) unknown.push({ field: r.field, wireType: r.wire });
      r.skip();
    }
    if (broken || r.broken) return err({ kind: "BadFrame", why: "protobuf" });
    if (idCount > MAX_IDS || ihave.length + iwant.length + graft.length + prune.length > MAX_ENTRIES) {
      return err({ kind: "BadFrame", why: "count" });
    }
  }
  if (r.broken) return err({ kind: "BadFrame", why: "protobuf" });
  return ok({
    ...(ihave.length === 0 ? {} : { ihave }),
    ...(iwant.length === 0 ? {} : { iwant }),
    ...(graft.length === 0 ? {} : { graft }),
    ...(prune.length === 0 ? {} : { prune }),
    ...(iAmRelay === undefined ? {} : { iAmRelay }),
    ...(included === undefined ? {} : { included }),
    ...(meshSize === undefined ? {} : { meshSize }),
  });
}

type Entry = { topic?: string; ids: Uint8Array[]; backoffSec?: number; broken: boolean };

/** An IHAVE, IWANT, GRAFT or PRUNE; a field number of 0 means the entry has no such member. */
function parseEntry(bytes: Uint8Array, topicField: number, idField: number): Entry {
  const entry: Entry = { ids: [], broken: false };
  const r = new ProtoReader(bytes);
  while (r.next()) {
    if (r.field === topicField && r.wire === 2) {
      const topic = parseAscii(r.bytes(), MAX_TOPIC_BYTES);
      if (topic !== undefined) entry.topic = topic;
    } else if (r.field === idField && r.wire === 2) entry.ids.push(r.bytes());
    else if (r.field === 3 && r.wire === 0) entry.backoffSec = r.varint();
    else r.skip();
  }
  entry.broken = r.broken;
  return entry;
}

function parseInclusion(bytes: Uint8Array): RelayInclusion | undefined {
  const r = new ProtoReader(bytes);
  let included = false;
  let meshSize = 0;
  while (r.next()) {
    if (r.field === 1 && r.wire === 0) included = r.varint() !== 0;
    else if (r.field === 2 && r.wire === 0) meshSize = r.varint();
    else r.skip();
  }
  return r.broken ? undefined : { included, meshSize };
}
