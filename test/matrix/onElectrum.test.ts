import { expect, test } from "vitest";
import { type Cell, cellText, parseFilter } from "./cell.ts";
import { enumerate } from "./enumerate.ts";
import { MatrixWorld } from "./matrixWorld.ts";
import { runCell } from "./runCell.ts";

MatrixWorld.backend = "electrum";

/** Every so many of the cells there are: next to no two of the same event. */
const EVERY = 67;
const COLUMNS = [
  "role=maker,road=straight,chain=calm",
  "role=taker,road=straight,chain=calm",
  "role=maker,road=refund,chain=calm",
  "role=taker,road=refund,chain=calm",
  "role=maker,road=straight,chain=reorganising",
  "role=taker,road=straight,chain=reorganising",
];

// A sample of the crash matrix, `backend=electrum`; all of it runs on daemons (`npm run matrix`).
test.each(COLUMNS)(
  "cells of the crash matrix on five Electrum servers, one of which lies, one stalls and one lags: %s",
  async (column) => {
    const { cells, broken } = await enumerate(parseFilter(column));
    expect(broken.map(({ result }) => result.wrongs)).toEqual([]);
    const sample: readonly Cell[] = cells.filter((_, i) => i % EVERY === 0);
    const bad: string[] = [];
    for (const cell of sample) {
      const { hit, wrongs } = await runCell(cell);
      if (!hit || wrongs.length > 0) bad.push(`${cellText(cell)}: ${hit ? wrongs.join("; ") : "not hit"}`);
    }
    expect([bad, sample.length > 0]).toEqual([[], true]);
  },
  300_000,
);
