import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { type Anvil, AnvilError, noAnvil, noAnvilReason, startAnvil } from "./anvil.ts";

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 10_000;
  while (!(await isSo())) if (Date.now() > deadline) throw new Error("not within 10 s");
};
const answers = (url: string): Promise<boolean> =>
  fetch(url, { method: "POST" }).then(
    () => true,
    () => false,
  );

describe.skipIf(noAnvil)(`anvil for tests${noAnvilReason}`, () => {
  let running: Anvil | null = null;
  let other: ChildProcess | null = null;
  afterEach(async () => {
    await running?.stop();
    other?.kill("SIGKILL");
  });

  test("has the chain id and time asked for, funded accounts with their keys, one call or many at once", async () => {
    running = await startAnvil({ chainId: 777, timestampSec: 1_700_000_000 });
    expect(await running.call("eth_chainId")).toBe("0x309");
    expect(await running.call("eth_accounts")).toEqual(running.accounts.map(({ address }) => address));
    expect(running.accounts.every(({ privateKey }) => /^0x[0-9a-f]{64}$/.test(privateKey))).toBe(true);
    const [block, balance] = await running.callAll([
      { method: "eth_getBlockByNumber", params: ["0x0", false] },
      { method: "eth_getBalance", params: [running.accounts[0]?.address, "latest"] },
    ]);
    expect(block).toMatchObject({ timestamp: "0x6553f100" });
    expect(balance).toBe("0x21e19e0c9bab2400000");
  });

  test("gives the chain's refusal as an error with its code", async () => {
    running = await startAnvil();
    await expect(running.call("eth_noSuchThing")).rejects.toBeInstanceOf(AnvilError);
  });

  test("a wrong command line is an error with what the program said, and nothing is left running", async () => {
    await expect(startAnvil({ args: ["--no-such-flag"] })).rejects.toThrow(/no-such-flag/);
  });

  test("is gone after stop, which may come twice", async () => {
    running = await startAnvil();
    await running.stop();
    await running.stop();
    expect(await answers(running.url)).toBe(false);
  });

  test("is gone soon after the process that started it was killed", async () => {
    const code = `const { startAnvil } = await import(${JSON.stringify(new URL("./anvil.ts", import.meta.url).href)});
      console.log((await startAnvil()).url);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    other = owner;
    const [said] = await once(owner.stdout, "data");
    const url = String(said).trim();
    expect(await answers(url)).toBe(true);
    owner.kill("SIGKILL");
    await until(async () => !(await answers(url)));
  });
});
