import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../src/devnet/freePorts.ts";
import { startElectrsRest } from "./electrsRest.ts";
import { type LightServer, startLightServer } from "./lightServer.ts";
import { electrsPath } from "./programs.ts";

/** electrs over somebody's daemon. It speaks TCP and nothing else. */
export type ElectrsServer = LightServer & {
  /** Host and port. */
  readonly url: string;
};

/** Starts electrs in a folder of its own over a daemon with REST and a transaction index, and waits until it answers. */
export async function startElectrs(daemonUrl: string): Promise<ElectrsServer> {
  const { username, password } = new URL(daemonUrl);
  const dir = await mkdtemp(join(tmpdir(), "swapnode-electrs-"));
  const rest = await startElectrsRest(daemonUrl);
  const port = await freePort();
  const settings = join(dir, "electrs.toml");
  await writeFile(settings, `auth = "${username}:${password}"\n`, { mode: 0o600 });
  const args = [
    ...["--conf", settings, "--network", "regtest", "--db-dir", join(dir, "db"), "--skip-block-download-wait", "--wait-duration-secs", "1"],
    ...["--daemon-rpc-addr", `127.0.0.1:${rest.port}`, "--electrum-rpc-addr", `127.0.0.1:${port}`, "--log-filters", "WARN"],
  ];
  const ready = rest.caughtUp;
  const server = await startLightServer({ name: "electrs", path: electrsPath(), args, env: {}, port, ready }, async () => {
    await rest.close();
    await rm(dir, { recursive: true, force: true });
  });
  return { ...server, url: `127.0.0.1:${port}` };
}
