import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newKeyPem, selfSignedCertificate } from "../../../src/adapters/httpServer/selfSigned.ts";
import { freePort } from "../../../src/devnet/freePorts.ts";
import { type LightServer, startLightServer } from "./lightServer.ts";
import { electrumxPath } from "./programs.ts";

/** How clients reach a server, by KDF's names. */
export type Service = "TCP" | "SSL" | "WS" | "WSS";

/** ElectrumX over somebody's daemon. */
export type ElectrumxServer = LightServer & {
  /** Host and port of a service. */
  url(service: Service): string;
};

/** ElectrumX's names of a chain. */
export type ElectrumxChain = { readonly coin: string; readonly net: string };

const CLIENTS: readonly Service[] = ["TCP", "SSL", "WS", "WSS"];
const HOST = "127.0.0.1";

/** Starts ElectrumX in a folder of its own and with a certificate of its own, and waits until it answers. @param limits others than its usual ones */
export async function startElectrumx(
  daemonUrl: string,
  { coin, net }: ElectrumxChain,
  limits: { readonly [variable: string]: string } = {},
): Promise<ElectrumxServer> {
  const dir = await mkdtemp(join(tmpdir(), "swapnode-electrumx-"));
  const database = join(dir, "db");
  await mkdir(database);
  const key = newKeyPem();
  await writeFile(join(dir, "key.pem"), key, { mode: 0o600 });
  await writeFile(join(dir, "certificate.pem"), selfSignedCertificate(key, [HOST], Date.now()));
  const ports = new Map<Service, number>();
  for (const service of CLIENTS) ports.set(service, await freePort());
  const env = {
    COIN: coin,
    NET: net,
    DAEMON_URL: daemonUrl,
    DB_DIRECTORY: database,
    SERVICES: [...ports].map(([service, port]) => `${service.toLowerCase()}://${HOST}:${port}`).join(","),
    SSL_KEYFILE: join(dir, "key.pem"),
    SSL_CERTFILE: join(dir, "certificate.pem"),
    PEER_DISCOVERY: "off",
    ALLOW_ROOT: "yes",
    CACHE_MB: "10",
    ...limits,
  };
  const path = electrumxPath();
  const server = await startLightServer({ name: "electrumx", path, args: [], env, port: ports.get("TCP") ?? 0 }, () =>
    rm(dir, { recursive: true, force: true }),
  );
  return { ...server, url: (service) => `${HOST}:${ports.get(service)}` };
}
