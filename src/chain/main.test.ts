import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { TEST_COINS } from "../../test/fakes/chainWorld.ts";
import { main } from "./main.ts";

afterEach(() => void vi.restoreAllMocks());

function captured() {
  const lines: string[] = [];
  const complaints: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => complaints.push(String(text)) > 0);
  return { lines, complaints };
}

async function coinsFile() {
  const folder = await mkdtemp(join(tmpdir(), "chain-"));
  const file = join(folder, "coins");
  await writeFile(file, JSON.stringify([TEST_COINS.kmd]));
  return { file, remove: () => rm(folder, { recursive: true }) };
}

test("it prints one line of JSON when ready and ends when asked to stop", async () => {
  const { lines } = captured();
  const { file, remove } = await coinsFile();
  try {
    const ended = main(["--coin", "KIN", "--coins", file, "--user", "a", "--password", "b", "--block-time", "60", "--electrum", "1"]);
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    const ready = JSON.parse(lines[0] ?? "");
    expect(ready).toEqual({
      ready: true,
      rpc_url: expect.stringMatching(/^http:\/\/a:b@127\.0\.0\.1:\d+$/),
      electrum: [expect.stringMatching(/^127\.0\.0\.1:\d+$/)],
    });
    const url = new URL(ready.rpc_url);
    const headers = { authorization: `Basic ${btoa("a:b")}` };
    const answer = await fetch(`http://${url.host}/`, { method: "POST", body: '{"method":"stop"}', headers });
    expect(await answer.json()).toMatchObject({ result: expect.stringContaining("stopping") });
    expect(await ended).toBe(0);
  } finally {
    await remove();
  }
});

test("a wrong command line is refused with one sentence and the usage", async () => {
  const { complaints } = captured();
  const { file, remove } = await coinsFile();
  try {
    expect(await main(["--coin", "KIN"])).toBe(2);
    expect(await main(["--coin", "NONE", "--coins", file])).toBe(2);
    expect(await main(["--coin", "KIN", "--coins", join(file, "nowhere")])).toBe(2);
    expect(await main(["--coin", "KIN", "--coins", file, "--port", "70000"])).toBe(2);
    expect(await main(["--coin", "KIN", "--coins", file, "--block-time", "never"])).toBe(2);
    expect(await main(["--coin", "KIN", "--coins", file, "--electrum", "11"])).toBe(2);
    expect(await main(["--nonsense"])).toBe(2);
    expect(complaints.map((c) => c.split("\n")[0])).toEqual([
      "--coin and --coins are needed",
      `no coin NONE in ${file}`,
      expect.stringContaining("cannot read the coins file"),
      "--port 70000: 0 to 65535",
      "--block-time never: 0.01 to 86400 seconds",
      "--electrum 11: 0 to 10",
      expect.stringContaining("nonsense"),
    ]);
  } finally {
    await remove();
  }
});
