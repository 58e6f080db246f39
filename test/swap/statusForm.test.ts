import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { parseEventText } from "../../src/adapters/sqlite/storedEvent.ts";
import { statusMaker, swapStatus } from "../../src/core/swap/swapStatus.ts";
import { recordedLogs } from "../vectors/eventLogs/eventLogs.ts";

/** Statuses made of the recorded logs, by form. A form that was released never changes. */
const DIGESTS: { readonly [maker: string]: string } = {
  "any, form 1": "04105bee3d5d351d",
  "any, form 2": "0cd4cd2f8b9fb806",
  "any, form 3": "11b2a582e4c1540f",
};

test("a log that comes to another status than before has another form, or statuses kept by the old program would be shown", () => {
  const digest = createHash("sha256");
  for (const { events } of recordedLogs) {
    const log = events.map((text) => {
      const parsed = parseEventText(text);
      if (!parsed.ok) throw new Error(parsed.error.detail);
      return parsed.value;
    });
    digest.update(JSON.stringify(swapStatus(log)));
  }
  expect(digest.digest("hex").slice(0, 16), "raise STATUS_FORM in src/core/swap/swapStatus.ts and add its digest here").toBe(
    DIGESTS[statusMaker("any")],
  );
});
