import type { TLSSocket } from "node:tls";
import { err, ok } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { CertificatePins, ElectrumEndpoint, OpenServerStream } from "../../ports/electrum.ts";
import type { Rng } from "../../ports/rng.ts";
import { webSocketOpener } from "../../wire/wsSocket.ts";
import { MAX_LINE } from "./answerLimit.ts";
import { type CertificateJudge, certificateJudge } from "./certificatePin.ts";
import { type ServerAddress, serverName, voterOf } from "./serverAddress.ts";
import { socketFaultText } from "./socketFault.ts";
import { tcpOpener } from "./tcpStream.ts";

const ANY_CERTIFICATE: CertificateJudge = { judge: async () => null, keep: async () => null };

/** The endpoint of a server for `openElectrumChain`. `pins` are asked and written for SSL and WSS whose certificates count. */
export function electrumEndpoint(
  address: ServerAddress,
  deps: { readonly rng: Rng; readonly pins: CertificatePins },
  timeoutMs?: number,
): ElectrumEndpoint {
  const name = serverName(address);
  const open: OpenServerStream = async (handlers, signal) => {
    const judge = address.disableCertVerification ? ANY_CERTIFICATE : certificateJudge(name, deps.pins, address.acceptCertificate);
    const stream = await openerOf(address, judge.judge, deps.rng)(handlers, signal);
    return stream.ok ? ok({ ...stream.value, keep: judge.keep }) : stream;
  };
  return {
    name,
    voter: voterOf(address),
    open: saying(open),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/** The same, with sentences for the codes of sockets. */
const saying =
  (open: OpenServerStream): OpenServerStream =>
  async (handlers, signal) => {
    const stream = await open({ ...handlers, onClose: (why) => handlers.onClose(socketFaultText(why)) }, signal);
    return stream.ok ? stream : err({ why: socketFaultText(stream.error.why) });
  };

function openerOf(
  { host, port, protocol }: ServerAddress,
  judge: (socket: TLSSocket) => Promise<string | null>,
  rng: Rng,
): OpenServerStream {
  if (protocol === "TCP") return tcpOpener({ host, port, judge: null });
  if (protocol === "SSL") return tcpOpener({ host, port, judge });
  const url = new URL(`${protocol === "WS" ? "ws" : "wss"}://${host}:${port}/`);
  const open = webSocketOpener({ url, user: "", password: new Secret(""), judge }, rng, MAX_LINE);
  return async ({ onBytes, onUnread, onClose }, signal) => {
    // Each message is one line.
    const socket = await open({ onText: (text) => onBytes(Buffer.from(`${text}\n`, "utf8")), onUnread, onClose }, signal);
    return socket.ok ? ok({ send: socket.value.send, close: socket.value.close }) : socket;
  };
}
