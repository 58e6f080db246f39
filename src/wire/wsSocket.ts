import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { err, ok, type Result } from "../core/util/result.ts";
import type { Secret } from "../core/util/secret.ts";
import { Aborted } from "../ports/clock.ts";
import type { Rng } from "../ports/rng.ts";
import { encodeFrame, WsFrameReader } from "./wsFrames.ts";

/** An open connection that carries texts. */
export type TextSocket = {
  /** False: it is closed. */
  readonly send: (text: string) => boolean;
  readonly close: () => void;
};
export type TextSocketHandlers = {
  readonly onText: (text: string) => void;
  /** How many bytes of a message that has not ended are kept now. */
  readonly onUnread?: (bytes: number) => void;
  /** Once, also after `close`; with a few words on why. */
  readonly onClose: (why: string) => void;
};
/** Connects; rejects only with `Aborted`. The simulator and tests bring their own. */
export type OpenTextSocket = (handlers: TextSocketHandlers, signal: AbortSignal) => Promise<Result<TextSocket, { readonly why: string }>>;

/** Where a WebSocket server listens: `ws:` or `wss:`, without user and password. */
export type WsTarget = {
  readonly url: URL;
  /** Empty: no login. */
  readonly user: string;
  readonly password: Secret<string>;
  /**
   * Judges the certificate of a `wss:` server: what is wrong with it, or null. Absent: it must be one that an authority vouches for.
   */
  readonly judge?: (socket: TLSSocket) => Promise<string | null>;
};

/** RFC 6455, 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Written and not yet taken by the network: beyond it the node does not read and the connection is given up. */
const MAX_UNSENT = 16_000_000;

/** Opens WebSocket connections to one node. `maxBytes`: longest message it may send. */
export function webSocketOpener(node: WsTarget, rng: Rng, maxBytes: number): OpenTextSocket {
  const { url, user, password, judge } = node;
  const isSecure = url.protocol === "wss:";
  const target = new URL(url);
  target.protocol = isSecure ? "https:" : "http:";
  return (handlers, signal) =>
    new Promise((resolve, reject) => {
      const key = Buffer.from(rng.bytes(16)).toString("base64");
      const login = user === "" ? {} : { authorization: `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString("base64")}` };
      const req = (isSecure ? httpsRequest : httpRequest)(target, {
        headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": key, ...login },
        ...(judge && isSecure ? { rejectUnauthorized: false } : {}),
        // Agents take up earlier TLS sessions again, and whose name is in the certificate is looked at in new ones alone.
        agent: false,
      });
      const onAbort = (): void => {
        req.destroy();
        reject(new Aborted());
      };
      const finish = (result: Result<TextSocket, { readonly why: string }>): void => {
        signal.removeEventListener("abort", onAbort);
        resolve(result);
      };
      const onError = (cause: NodeJS.ErrnoException): void => finish(err({ why: cause.code ?? "the connection failed" }));
      req.on("error", onError);
      req.on("response", (response) => {
        response.resume();
        req.destroy();
        finish(err({ why: `it answered with HTTP ${response.statusCode ?? 0} and no WebSocket` }));
      });
      req.on("upgrade", (response, socket, head) => {
        // From here on nobody else hears what becomes of it.
        socket.on("error", onError);
        const expected = createHash("sha1")
          .update(key + ACCEPT_SUFFIX)
          .digest("base64");
        if (response.headers["sec-websocket-accept"] !== expected) {
          socket.destroy();
          finish(err({ why: "its answer to the WebSocket request is wrong" }));
          return;
        }
        judged(socket, judge).then(
          (why) => {
            if (socket.destroyed) finish(err({ why: "it closed the connection" }));
            if (why !== null || signal.aborted) socket.destroy();
            finish(why === null ? ok(wrap(socket, head, rng, maxBytes, handlers)) : err({ why }));
          },
          (cause: unknown) => {
            socket.destroy();
            finish(err({ why: cause instanceof Error ? cause.message : "its certificate could not be judged" }));
          },
        );
      });
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      req.end();
    });
}

const judged = async (socket: Duplex, judge: WsTarget["judge"]): Promise<string | null> =>
  judge && socket instanceof TLSSocket ? judge(socket) : null;

function wrap(socket: Duplex, head: Buffer, rng: Rng, maxBytes: number, handlers: TextSocketHandlers): TextSocket {
  const reader = new WsFrameReader(maxBytes);
  let isOpen = true;
  const end = (why: string): void => {
    if (!isOpen) return;
    isOpen = false;
    socket.destroy();
    handlers.onClose(why);
  };
  const write = (kind: "text" | "pong" | "close", payload: Buffer): void => {
    if (!isOpen) return;
    socket.write(encodeFrame(kind, payload, rng.bytes(4)));
    if (socket.writableLength > MAX_UNSENT) end("it does not read what it is sent");
  };
  const hear = (chunk: Buffer): void => {
    if (!isOpen) return;
    const read = reader.push(chunk);
    if (!read.ok) {
      end(`it sent ${read.error.detail}`);
      return;
    }
    for (const event of read.value) {
      if (event.kind === "text" && isOpen) handlers.onText(event.text);
      else if (event.kind === "ping") write("pong", event.payload);
      else if (event.kind === "close") end("it closed the connection");
    }
    if (isOpen) handlers.onUnread?.(reader.heldBytes);
  };
  socket.on("data", hear);
  socket.on("error", (cause: NodeJS.ErrnoException) => end(cause.code ?? "the connection failed"));
  socket.on("close", () => end("it closed the connection"));
  if (head.length > 0) hear(head);
  return {
    send: (text) => {
      write("text", Buffer.from(text, "utf8"));
      return isOpen;
    },
    close: () => {
      write("close", Buffer.alloc(0));
      end("closed");
    },
  };
}
