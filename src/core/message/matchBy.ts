import { fromHex, toHex } from "../util/bytes.ts";
import { assertNever } from "../util/result.ts";
import { type MsgpackReader, refuse } from "./msgpackReader.ts";
import type { MsgpackWriter } from "./msgpackWriter.ts";
import type { MatchBy } from "./types.ts";
import { readCompactUuid, writeCompactUuid } from "./wireShapes.ts";

const VARIANTS = ["Any", "Orders", "Pubkeys"] as const;
/** Uuids or keys a taker may name. */
const MAX_NAMED = 1000;

export function writeMatchBy(w: MsgpackWriter, matchBy: MatchBy): void {
  w.variant(VARIANTS.indexOf(matchBy.type));
  switch (matchBy.type) {
    case "Any":
      w.nil();
      break;
    case "Orders":
      w.array(matchBy.data.length);
      for (const uuid of matchBy.data) writeCompactUuid(w, uuid);
      break;
    case "Pubkeys":
      w.array(matchBy.data.length);
      for (const key of matchBy.data) w.ints(fromHex(key));
      break;
    default:
      assertNever(matchBy);
  }
}

export function readMatchBy(r: MsgpackReader): MatchBy {
  const type = VARIANTS[r.variant(VARIANTS)];
  const list = (read: () => string): string[] => Array.from({ length: r.array(MAX_NAMED) }, read);
  switch (type) {
    case "Any":
      return r.nil() ? { type } : refuse("nil expected");
    case "Orders":
      return { type, data: list(() => readCompactUuid(r)) };
    case "Pubkeys":
      return { type, data: list(() => toHex(r.intsOf(32))) };
    case undefined:
      return refuse("unknown match_by");
    default:
      return assertNever(type);
  }
}
