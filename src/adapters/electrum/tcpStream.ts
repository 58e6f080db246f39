import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, TLSSocket } from "node:tls";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted } from "../../ports/clock.ts";
import type { OpenServerStream, ServerStream, ServerStreamHandlers } from "../../ports/electrum.ts";

/** Written and not yet taken by the network: beyond it the server does not read and the connection is given up. */
const MAX_UNSENT = 16_000_000;

export type TcpTarget = {
  readonly host: string;
  readonly port: number;
  /** Null: no TLS. Otherwise judges the server's certificate: what is wrong with it, or null. */
  readonly judge: ((socket: TLSSocket) => Promise<string | null>) | null;
};

/** Opens connections over TCP, with or without TLS. */
export function tcpOpener({ host, port, judge }: TcpTarget): OpenServerStream {
  const plainHost = host.replace(/^\[|\]$/g, "");
  return (handlers, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new Aborted());
        return;
      }
      // Whose certificate it is gets judged below, with more to go by than a list of authorities.
      const socket: Socket =
        judge === null
          ? connectTcp({ host: plainHost, port })
          : connectTls({
              host: plainHost,
              port,
              rejectUnauthorized: false,
              ...(/[a-z]/i.test(host) && !host.startsWith("[") ? { servername: host } : {}),
            });
      const onAbort = (): void => {
        socket.destroy();
        reject(new Aborted());
      };
      const finish = (result: Result<ServerStream, { readonly why: string }>): void => {
        signal.removeEventListener("abort", onAbort);
        if (!result.ok) socket.destroy();
        resolve(result);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const onError = (cause: NodeJS.ErrnoException): void => finish(err({ why: cause.code ?? "the connection failed" }));
      socket.on("error", onError);
      socket.once("close", () => finish(err({ why: "it closed the connection" })));
      socket.once(judge === null ? "connect" : "secureConnect", () => {
        const judged = judge !== null && socket instanceof TLSSocket ? judge(socket) : Promise.resolve(null);
        judged.then(
          (why) => {
            if (why !== null) finish(err({ why }));
            else if (!signal.aborted) finish(ok(wrap(socket, handlers)));
          },
          (cause: unknown) => finish(err({ why: cause instanceof Error ? cause.message : "its certificate could not be judged" })),
        );
      });
    });
}

function wrap(socket: Socket, handlers: ServerStreamHandlers): ServerStream {
  let isOpen = true;
  const end = (why: string): void => {
    if (!isOpen) return;
    isOpen = false;
    socket.destroy();
    handlers.onClose(why);
  };
  socket.setNoDelay(true);
  socket.on("data", (bytes) => {
    if (isOpen) handlers.onBytes(bytes);
  });
  socket.on("error", (cause: NodeJS.ErrnoException) => end(cause.code ?? "the connection failed"));
  socket.on("close", () => end("it closed the connection"));
  return {
    send(line) {
      if (!isOpen) return false;
      socket.write(`${line}\n`);
      if (socket.writableLength > MAX_UNSENT) end("it does not read what it is sent");
      return isOpen;
    },
    close: () => end("closed"),
  };
}
