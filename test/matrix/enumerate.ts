import { type Cell, CHAINS, type Column, CRASHES, PAIRS, PEERS, RESTARTS, ROADS } from "./cell.ts";
import { type CellResult, type Met, undisturbed } from "./runCell.ts";

/** Where a road parts from the straight one: before this event the other roads have nothing of their own. */
const PARTS_AT: { readonly [road: string]: string } = { refund: "refund_decided", late: "refund_decided", cancel: "refund_decided" };

/** Every road of both sides under every weather, for each pair. Only a taker can be made to wait for a claim past its lock. */
const columns = (): readonly Column[] =>
  PAIRS.flatMap((pair) =>
    (["maker", "taker"] as const).flatMap((role) =>
      ROADS.filter((road) => road !== "late" || role === "taker").flatMap((road) => CHAINS.map((chain) => ({ pair, role, road, chain }))),
    ),
  );

export type Enumeration = {
  readonly cells: readonly Cell[];
  /** Undisturbed runs that did not end well: then nothing after them means anything. */
  readonly broken: readonly { readonly column: Column; readonly result: CellResult }[];
};

/** All cells: the events are those undisturbed runs really meet, in their order. */
export async function enumerate(wanted: (column: Column) => boolean): Promise<Enumeration> {
  const cells: Cell[] = [];
  const broken: { column: Column; result: CellResult }[] = [];
  for (const column of columns().filter(wanted)) {
    const { met, result } = await undisturbed(column);
    if (result.wrongs.length > 0) broken.push({ column, result });
    const parts = PARTS_AT[column.road];
    const from = parts === undefined ? 0 : met.findIndex((m) => m.event === parts);
    if (from < 0) throw new Error(`${Object.values(column).join(" ")} meets no ${parts}`);
    for (const m of met.slice(from)) cells.push(...cellsOf(column, m));
  }
  return { cells, broken };
}

function cellsOf(column: Column, { event, isBroadcast, moves }: Met): readonly Cell[] {
  const crashes = CRASHES.filter((crash) => crash !== "after_broadcast" || isBroadcast);
  // Restarts innermost: those at the same moment are run once.
  return crashes.flatMap((crash) =>
    PEERS.flatMap((peer) =>
      (peer === "malicious" ? moves : [null]).flatMap((move) =>
        RESTARTS.map((restart) => ({ ...column, event, crash, restart, peer, move })),
      ),
    ),
  );
}
