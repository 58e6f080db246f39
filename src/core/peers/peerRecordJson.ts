import { err, ok, type Result } from "../util/result.ts";
import { type Ban, type BanReason, NEW_PEER, type PeerRecord } from "./peerRecord.ts";

const VERSION = 1;
/** Limits of a stored record: our own writing, so far larger means damage. */
const MAX_CHARS = 20_000;
const MAX_VOLUMES = 64;

type Json = { readonly [key: string]: unknown };
const isObject = (v: unknown): v is Json => typeof v === "object" && v !== null && !Array.isArray(v);
const isCount = (v: unknown): v is number => Number.isSafeInteger(v) && Number(v) >= 0;

export function peerRecordToJson(r: PeerRecord): string {
  const volumes = Object.fromEntries(Object.entries(r.volumes).map(([ticker, units]) => [ticker, String(units)]));
  return JSON.stringify({ v: VERSION, ...r, volumes });
}

/** Reads what `peerRecordToJson` wrote. */
export function parsePeerRecord(text: string): Result<PeerRecord, { readonly kind: "BadRecord" }> {
  const bad = err({ kind: "BadRecord" } as const);
  if (text.length > MAX_CHARS) return bad;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return bad;
  }
  if (!isObject(json) || json.v !== VERSION) return bad;
  const { offences, offenceAtMs, points, pointsAtMs, finished, finishedAtMs } = json;
  const counts = { offences, offenceAtMs, points, pointsAtMs, finished, finishedAtMs };
  if (!Object.values(counts).every(isCount)) return bad;
  const ban = parseBan(json.ban);
  const volumes = parseVolumes(json.volumes);
  return ban === undefined || volumes === undefined
    ? bad
    : ok({ ...NEW_PEER, ...(counts as { [K in keyof typeof counts]: number }), ban, volumes });
}

function parseBan(json: unknown): Ban | null | undefined {
  if (json === null) return null;
  if (!isObject(json) || (json.untilMs !== null && !isCount(json.untilMs))) return undefined;
  const reason = parseReason(json.reason);
  return reason && { reason, untilMs: json.untilMs };
}

function parseReason(json: unknown): BanReason | undefined {
  if (!isObject(json)) return undefined;
  const { kind, reason, swap, side, event, detail } = json;
  if (kind === "Manual" && typeof reason === "string") return { kind, reason };
  if (kind !== "FailedSwap" || (side !== "Maker" && side !== "Taker")) return undefined;
  const isText = typeof swap === "string" && typeof event === "string" && typeof detail === "string";
  return isText ? { kind, swap, side, event, detail } : undefined;
}

function parseVolumes(json: unknown): PeerRecord["volumes"] | undefined {
  if (!isObject(json) || Object.keys(json).length > MAX_VOLUMES) return undefined;
  const volumes: { [ticker: string]: bigint } = {};
  for (const [ticker, units] of Object.entries(json)) {
    if (typeof units !== "string" || !/^\d{1,40}$/.test(units)) return undefined;
    volumes[ticker] = BigInt(units);
  }
  return volumes;
}
