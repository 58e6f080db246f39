import type { CoinEntry } from "../coin/coinEntry.ts";
import { type BadField, FieldReader, isRecord } from "../coin/fieldReader.ts";
import { err, ok, type Result } from "../util/result.ts";

/** A block that is known to be in the chain. */
export type Checkpoint = { readonly height: number /** Display order. */; readonly hash: string };

const MAX_HEIGHT = 0x7fffffff;
const HASH = /^[0-9a-f]{64}$/i;

/**
 * The block from which KDF's coins file wants headers checked: `spv_conf.starting_block_header` with `height` and `hash`
 * (KDF also reads `time`, `bits` and `validation_params`, which follow from the header). Null: the entry has none, or it
 * names no hash.
 */
export function checkpointOf(entry: CoinEntry): Result<Checkpoint | null, BadField> {
  const field = "spv_conf.starting_block_header";
  const conf = entry.raw.spv_conf ?? null;
  if (conf === null) return ok(null);
  const start = isRecord(conf) ? (conf.starting_block_header ?? null) : undefined;
  if (start === null) return ok(null);
  if (!isRecord(start)) return err({ field, detail: `${field} must be an object` });
  const r = new FieldReader(start);
  const height = r.uint("height", MAX_HEIGHT);
  const hash = r.text("hash");
  if (r.problem) return err({ field, detail: `${field}.${r.problem.field} ${r.problem.detail}` });
  if (hash === null) return ok(null);
  if (height === null || !HASH.test(hash)) return err({ field, detail: `${field} must have a height and a hash of 64 hex digits` });
  return ok({ height, hash: hash.toLowerCase() });
}
