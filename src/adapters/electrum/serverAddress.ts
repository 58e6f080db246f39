import { err, ok, type Result } from "../../core/util/result.ts";

/** How to talk to a server: KDF's names (rpc.md 5.1). */
export type ServerProtocol = "TCP" | "SSL" | "WS" | "WSS";

export type ServerAddress = {
  readonly host: string;
  readonly port: number;
  readonly protocol: ServerProtocol;
  /** SSL and WSS: any certificate will do, at any time. */
  readonly disableCertVerification: boolean;
  /** SSL and WSS: this certificate is good whatever the server showed before; its SHA-256, lower-case hex. */
  readonly acceptCertificate?: string;
};

export type BadServerUrl = { readonly kind: "BadServerUrl"; readonly detail: string };

const MAX_URL = 300;
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?\.?|\[[0-9a-f:.]{2,45}\])$/i;

/** Reads `host:port`; an IPv6 address stands in brackets. */
export function parseServerUrl(url: string): Result<{ readonly host: string; readonly port: number }, BadServerUrl> {
  const bad = (detail: string): Result<never, BadServerUrl> => err({ kind: "BadServerUrl", detail });
  const at = url.lastIndexOf(":");
  if (url.length > MAX_URL || at <= 0) return bad("it must be host:port");
  const [host, digits] = [url.slice(0, at), url.slice(at + 1)];
  const port = Number(digits);
  if (!/^\d{1,5}$/.test(digits) || port < 1 || port > 65_535) return bad("its port must be a number from 1 to 65535");
  // WHATWG: numbers that are no IPv4 address are refused where a WebSocket needs a URL.
  return HOST.test(host) && URL.canParse(`ws://${host}:${port}/`) ? ok({ host, port }) : bad("its host is no host name");
}

/** What people and logs see of a server. */
export const serverName = ({ host, port }: Pick<ServerAddress, "host" | "port">): string => `${host}:${port}`;

/** An IPv4 address in an IPv6 one, as a URL writes it. */
const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** One spelling of a host. */
function plainHost(host: string): string {
  const { hostname } = new URL(`ws://${host}/`);
  const [, high, low] = MAPPED.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return hostname.replace(/\.$/, "");
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff]);
  return bytes.join(".");
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

/**
 * Whose word a server's is: that of its host, however it is spelled and at whatever port. On this machine each port has its own, for
 * tunnels end there. Names are not looked up: two names of one host are two voters.
 */
export function voterOf(address: Pick<ServerAddress, "host" | "port">): string {
  const host = plainHost(address.host);
  return isLoopback(host) ? serverName({ host, port: address.port }) : host;
}
