import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ENVELOPE } from "./envelope.ts";

// Who runs a node reads how long it may be away where it is stopped, upgraded or found dead, and takes that for the promise.
test.each(["docs/safety.md", "docs/operations/market-maker.md", "docs/operations/recovery.md", "docs/operations/upgrade.md"])(
  "%s names the time a node may be away as the promise about funds has it",
  (path) => {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    expect(text).toMatch(new RegExp(`(?:within|\\|) ${ENVELOPE.troubleMs / 60_000} min\\b`));
  },
);
