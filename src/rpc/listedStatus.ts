import { StorageError } from "../ports/sql.ts";
import type { SwapStatus, SwapsApi } from "./ctx/swaps.ts";

/**
 * A swap's status for a list; undefined when this node has no such swap or its stored record is damaged, so that one record
 * does not take the list of all others away. The log names it, and so does `my_swap_status`.
 */
export async function listedStatus(swaps: SwapsApi, uuid: string): Promise<SwapStatus | undefined> {
  try {
    return await swaps.status(uuid);
  } catch (cause) {
    if (cause instanceof StorageError && cause.kind === "Corrupt") return undefined;
    throw cause;
  }
}
