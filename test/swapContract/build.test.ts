import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../scripts/generators/swapContract.ts";
import { ROOT } from "../../scripts/sourceFiles.ts";

test("the committed interfaces and codes are what the sources compile to, with the pinned compiler", { timeout: 120_000 }, () => {
  const files = generate();
  expect(files.map(({ path }) => path)).toContain("contracts/build/SwapnodeSwap.json");
  for (const { path, content } of files)
    expect([path, existsSync(join(ROOT, path)) && readFileSync(join(ROOT, path), "utf8") === content]).toEqual([path, true]);
  expect(JSON.parse(files[0]?.content ?? "").compiler).toMatch(/^0\.8\.37\+/);
});
