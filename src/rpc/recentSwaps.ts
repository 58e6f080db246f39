import { z } from "zod";
import { err, ok } from "../core/util/result.ts";
import type { RpcContext } from "./ctx.ts";
import type { FaultTable } from "./fault.ts";
import { defaulted, optional, optionalCount, optionalText, readNonZero, readUsize, readUuid } from "./field.ts";
import { type SwapForm, SwapList } from "./swapList.ts";

/** `my_recent_swaps` of both styles: same parameters, same paging, another element (reference rpc.md 4.4). */

export const recentSwapsParams = z.object({
  limit: defaulted(readUsize, 10, { type: "integer", minimum: 0, default: 10 }).describe("Most swaps returned."),
  from_uuid: optional(readUuid, { type: "string", format: "uuid" }).describe("Skip records up to and including this one."),
  page_number: defaulted<number | undefined>(readNonZero, undefined, { type: "integer", minimum: 1 }).describe(
    "Page of `limit` swaps; default 1; without effect beside `from_uuid`.",
  ),
  my_coin: optionalText().describe("Only swaps in which this node gave this coin."),
  other_coin: optionalText().describe("Only swaps in which this node received this coin."),
  from_timestamp: optionalCount().describe("Only swaps started at this unix second or later."),
  to_timestamp: optionalCount().describe("Only swaps started before this unix second."),
});

export const recentSwapsShape = <T extends z.ZodType>(element: T) =>
  z.object({
    swaps: z.array(element).describe("Newest first."),
    from_uuid: z.string().nullable(),
    skipped: z.number().describe("Records left out in front."),
    limit: z.number(),
    total: z.number().describe("Swaps under the filters."),
    page_number: z.number().nullable().describe("Null with `from_uuid` (`compatibility: kdf`: a number always)."),
    total_pages: z.number(),
    found_records: z.number().describe("Swaps returned."),
  });

/** Most swaps in one reply: each status holds its transactions, some 10 kB. KDF has no bound. */
const MOST_SWAPS = 1_000;

export type RecentSwapsError =
  | { readonly kind: "UnknownFromUuid"; readonly uuid: string }
  | { readonly kind: "TooManySwaps"; readonly most: number };

export async function recentSwaps(p: z.output<typeof recentSwapsParams>, { swaps, compatibility }: RpcContext, form: SwapForm) {
  const { limit, from_uuid } = p;
  const page = p.page_number ?? 1;
  const found = await swaps.page(
    { myCoin: p.my_coin, otherCoin: p.other_coin, fromTimestamp: p.from_timestamp, toTimestamp: p.to_timestamp },
    from_uuid === undefined ? { skip: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER) } : { after: from_uuid },
    // One more says whether it would be too many.
    Math.min(limit, MOST_SWAPS + 1),
  );
  if (!found) return err({ kind: "UnknownFromUuid", uuid: from_uuid ?? "" } satisfies RecentSwapsError);
  if (found.uuids.length > MOST_SWAPS) return err({ kind: "TooManySwaps", most: MOST_SWAPS } satisfies RecentSwapsError);
  const statuses = await swaps.statuses(found.uuids);
  const shown = found.uuids.flatMap((uuid) => statuses.get(uuid) ?? []);
  const counts = {
    from_uuid: from_uuid ?? null,
    // Nothing under the filters: nothing was skipped either, whatever page was asked for.
    skipped: found.total === 0 ? 0 : found.skipped,
    limit,
    total: found.total,
    page_number: from_uuid === undefined || compatibility === "kdf" ? page : null,
    total_pages: limit === 0 ? 0 : Math.ceil(found.total / limit),
    found_records: found.uuids.length,
  };
  return ok(new SwapList(shown, form, counts));
}

export const RECENT_SWAPS_FAULTS: FaultTable<RecentSwapsError> = {
  UnknownFromUuid: {
    http: 500,
    type: "DbError",
    when: "`from_uuid` is none of the swaps under the filters.",
    text: () => "Unknown SQL error: Query returned no rows",
    data: () => "Unknown SQL error: Query returned no rows",
  },
  TooManySwaps: {
    http: 400,
    when: `More than ${MOST_SWAPS} swaps would be returned.`,
    text: ({ most }) => `more than ${most} swaps to return, the most in one reply; ask with a limit of at most ${most} and page_number`,
    data: ({ most }) => ({ most }),
  },
};
