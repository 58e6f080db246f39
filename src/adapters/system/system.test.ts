import { fork } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { writeFileAtomic } from "./atomicFile.ts";
import { openDataDir } from "./dataDir.ts";
import { lockFolder } from "./processLock.ts";
import { createSystemClock } from "./systemClock.ts";
import { createSystemRng } from "./systemRng.ts";

const WALLET = "05aab5342166f8594baf17a7d9bef5d567443327";

test("an atomic write replaces the content, is private and leaves nothing beside it", () => {
  const dir = tempFolder();
  const path = join(dir, "a.json");
  writeFileSync(`${path}.tmp`, "left over from a crash");
  writeFileAtomic(path, "one");
  writeFileAtomic(path, Uint8Array.of(0x74, 0x77, 0x6f));
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["a.json"]);
});

test("the data folder has KDF's layout and is open to its owner only", () => {
  const dir = tempFolder();
  const opened = openDataDir(dir, WALLET);
  if (!opened.ok) throw new Error(opened.error.message);
  expect(opened.value.root).toBe(join(dir, WALLET));
  const layout = ["SWAPS/MY", "SWAPS/STATS/MAKER", "SWAPS/STATS/TAKER", "ORDERS/MY/MAKER", "ORDERS/MY/TAKER", "ORDERS/MY/HISTORY"];
  for (const name of ["", ".", ...layout]) expect(statSync(join(dir, WALLET, name && `swapnode/${name}`)).mode & 0o777, name).toBe(0o700);
  // Nothing in the places where KDF has its own.
  expect(readdirSync(join(dir, WALLET))).toEqual(["swapnode"]);
  expect(openDataDir(dir, WALLET).ok).toBe(true);
});

test("a folder that cannot be written is named as KDF names it", () => {
  // A file in the way stands for every reason: the tests may run as root, whom no mode stops.
  const dir = tempFolder();
  writeFileSync(join(dir, WALLET), "");
  expect(openDataDir(dir, WALLET)).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining(`${WALLET} db dir is not writable: ${dir}`) },
  });
  const other = tempFolder();
  mkdirSync(join(other, WALLET, "swapnode/SWAPS"), { recursive: true });
  writeFileSync(join(other, WALLET, "swapnode/SWAPS/MY"), "");
  expect(openDataDir(other, WALLET)).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("SWAPS/MY db dir is not writable: ") },
  });
});

test("a second process cannot use the folder and learns which one holds it; kill -9 frees it", { timeout: 20_000 }, async () => {
  const dir = tempFolder();
  const script = join(dir, "holder.mjs");
  const module = new URL("./processLock.ts", import.meta.url).href;
  writeFileSync(
    script,
    `const { lockFolder } = await import(${JSON.stringify(module)}); const l = lockFolder(${JSON.stringify(dir)});
     process.send(l.ok); process.on("message", () => l);`,
  );
  const child = fork(script, { execArgv: [] });
  expect(await new Promise((resolve) => child.once("message", resolve))).toBe(true);
  const refused = lockFolder(dir);
  expect(refused).toMatchObject({ ok: false, error: { kind: "AlreadyRunning", pid: child.pid } });
  if (!refused.ok) expect(refused.error.message).toContain(`pid ${child.pid}`);
  const gone = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGKILL");
  await gone;
  const taken = lockFolder(dir);
  expect(taken.ok).toBe(true);
  expect(lockFolder(dir)).toMatchObject({ ok: false, error: { pid: process.pid } });
  if (taken.ok) taken.value.release();
  const again = lockFolder(dir);
  expect(again.ok).toBe(true);
  if (again.ok) again.value.release();
});

test("a lock that is damaged or no file is named, and not taken for the database", () => {
  const dir = tempFolder();
  const lock = join(dir, ".lock");
  writeFileSync(lock, "garbage".repeat(100));
  expect(lockFolder(dir)).toMatchObject({
    ok: false,
    error: {
      kind: "Unusable",
      message: `${lock} cannot be used: file is not a database. It holds nothing: if no node is running in this folder, remove it`,
    },
  });
  rmSync(lock);
  mkdirSync(lock);
  expect(lockFolder(dir)).toMatchObject({ ok: false, error: { kind: "Unusable" } });
});

test("a folder is taken also where the disk has no room for the process id", () => {
  const dir = tempFolder();
  symlinkSync("/dev/full", join(dir, ".lock.pid"));
  const taken = lockFolder(dir);
  expect(taken.ok).toBe(true);
  if (taken.ok) taken.value.release();
});

test("the clock runs a task after its delay, and a cancelled one never", async () => {
  const clock = createSystemClock();
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    const cancel = clock.after(0, () => order.push("cancelled"));
    cancel();
    cancel();
    const far = clock.after(1e12, () => order.push("far"));
    clock.after(5, () => {
      order.push("ran");
      far();
      resolve();
    });
  });
  expect(order).toEqual(["ran"]);
});

test("the generator gives the asked number of bytes and does not repeat", () => {
  const rng = createSystemRng();
  expect(rng.bytes(0)).toHaveLength(0);
  expect(Buffer.from(rng.bytes(32)).equals(Buffer.from(rng.bytes(32)))).toBe(false);
});
