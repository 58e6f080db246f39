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

/** What the control fields of one frame have said so far; protobuf merges repeated messages. */
export class ControlGatherer {
  readonly #ihave: { readonly topic: string; readonly ids: readonly Uint8Array[] }[] = [];
  readonly #iwant: (readonly Uint8Array[])[] = [];
  readonly #graft: string[] = [];
  readonly #prune: Prune[] = [];
  #iAmRelay: boolean | undefined;
  #included: RelayInclusion | undefined;
  #meshSize: number | undefined;
  #ids = 0;
  /** Fields this node does not know, up to 16. */
  readonly unknown: UnknownControlField[] = [];

  /** Adds one control message. */
  add(bytes: Uint8Array): Result<void, FrameError> {
    const r = new ProtoReader(bytes);
    while (r.next()) {
      if (!this.#take(r) || r.broken) return err({ kind: "BadFrame", why: "protobuf" });
      const entries = this.#ihave.length + this.#iwant.length + this.#graft.length + this.#prune.length;
      if (this.#ids > MAX_IDS || entries > MAX_ENTRIES) return err({ kind: "BadFrame", why: "count" });
    }
    return r.broken ? err({ kind: "BadFrame", why: "protobuf" }) : ok(undefined);
  }

  result(): Control {
    const [ihave, iwant, graft, prune] = [this.#ihave, this.#iwant, this.#graft, this.#prune];
    const [iAmRelay, included, meshSize] = [this.#iAmRelay, this.#included, this.#meshSize];
    return {
      ...(ihave.length === 0 ? {} : { ihave }),
      ...(iwant.length === 0 ? {} : { iwant }),
      ...(graft.length === 0 ? {} : { graft }),
      ...(prune.length === 0 ? {} : { prune }),
      ...(iAmRelay === undefined ? {} : { iAmRelay }),
      ...(included === undefined ? {} : { included }),
      ...(meshSize === undefined ? {} : { meshSize }),
    };
  }

  /** The field the reader stands at; false when what is inside it is no protobuf. */
  #take(r: ProtoReader): boolean {
    if (r.field >= 1 && r.field <= 4 && r.wire === 2) return this.#takeEntry(r.field, r.bytes());
    if (r.field === CONTROL_FIELDS.iAmRelay && r.wire === 0) this.#iAmRelay = r.varint() !== 0;
    else if (r.field === CONTROL_FIELDS.includedToRelaysMesh && r.wire === 2) {
      this.#included = parseInclusion(r.bytes());
      return this.#included !== undefined;
    } else if (r.field === CONTROL_FIELDS.meshSize && r.wire === 0) this.#meshSize = r.varint();
    else {
      if (this.unknown.length < MAX_UNKNOWN) this.unknown.push({ field: r.field, wireType: r.wire });
      r.skip();
    }
    return true;
  }

  #takeEntry(kind: number, bytes: Uint8Array): boolean {
    const [topicField, idField] = kind === 1 ? [1, 2] : kind === 2 ? [0, 1] : [1, 0];
    const { topic, ids, backoffSec, broken } = parseEntry(bytes, topicField, idField);
    this.#ids += ids.length;
    if (kind === 2) this.#iwant.push(ids);
    else if (topic === undefined) return !broken;
    else if (kind === 1) this.#ihave.push({ topic, ids });
    else if (kind === 3) this.#graft.push(topic);
    else this.#prune.push(backoffSec === undefined ? { topic } : { topic, backoffSec });
    return !broken;
  }
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
