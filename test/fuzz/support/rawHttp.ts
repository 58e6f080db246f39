import { Agent, request } from "node:http";
import { connect } from "node:net";
import type { HttpRequest } from "./rpcRequests.ts";

export type HttpAnswer = { readonly status: number; readonly headers: string; readonly text: string };

/**
 * A client with connections that are kept. `send` rejects when the server ends a connection without an answer; on one that was
 * kept it asks once more, because the server may have ended it after the last answer.
 */
export function httpClient(port: number, connections: number): { readonly send: (r: HttpRequest) => Promise<HttpAnswer>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const sendOnce = ({ verb, path, headers, body }: HttpRequest): Promise<HttpAnswer | "stale"> =>
    new Promise((resolve, reject) => {
      const sent = request({ port, host: "127.0.0.1", method: verb, path, agent, headers: { ...headers, ...lengthOf(body, headers) } });
      sent.on("response", (reply) => {
        let text = "";
        reply.setEncoding("utf8");
        reply.on("data", (part: string) => {
          text += part;
        });
        reply.on("error", reject);
        reply.on("end", () => resolve({ status: reply.statusCode ?? 0, headers: reply.rawHeaders.join("\n"), text }));
      });
      sent.on("error", (cause: NodeJS.ErrnoException) =>
        sent.reusedSocket && cause.code === "ECONNRESET" ? resolve("stale") : reject(cause),
      );
      sent.end(body);
    });
  const send = async (r: HttpRequest): Promise<HttpAnswer> => {
    const first = await sendOnce(r);
    const answer = first === "stale" ? await sendOnce(r) : first;
    if (answer === "stale") throw new Error("two kept connections ended without an answer");
    return answer;
  };
  return { send, close: () => agent.destroy() };
}

const lengthOf = (body: Uint8Array | string, headers: HttpRequest["headers"]): { readonly "content-length"?: number } =>
  "transfer-encoding" in headers ? {} : { "content-length": Buffer.byteLength(body) };

/** Sends bytes that need not be HTTP on a connection of their own; what came back until the server closed it. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => {
      text += part;
    });
    // A server that has said no may close before all is read.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(text));
  });
}
