import { connect, type Socket } from "node:net";

/**
 * Asks one request after another over one connection, with as little of a client around it as HTTP/1.1 allows: what is
 * measured is the server. Only for replies with a `Content-Length`.
 */
export type BareHttp = {
  /** The reply body. Rejects for any status but 200. */
  post(body: string): Promise<Buffer>;
  close(): void;
};

const HEAD_END = Buffer.from("\r\n\r\n");

export async function openBareHttp(port: number): Promise<BareHttp> {
  const socket: Socket = connect(port, "127.0.0.1");
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.setNoDelay(true);
  let waiting: { readonly resolve: (body: Buffer) => void; readonly reject: (cause: Error) => void } | null = null;
  let parts: Buffer[] = [];
  let size = 0;
  /** Bytes of the whole reply; null while its head is not complete. */
  let expected: { readonly head: number; readonly total: number; readonly isOk: boolean } | null = null;
  const fail = (reason: string): void => waiting?.reject(new Error(reason));
  socket.on("error", (cause) => waiting?.reject(cause));
  socket.on("close", () => fail("the server closed the connection"));
  socket.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (expected === null) {
      const all = Buffer.concat(parts);
      parts = [all];
      const end = all.indexOf(HEAD_END);
      if (end < 0) return;
      const head = all.toString("latin1", 0, end);
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      if (length === undefined) return fail("a reply without Content-Length");
      expected = { head: end + 4, total: end + 4 + Number(length), isOk: head.startsWith("HTTP/1.1 200 ") };
    }
    if (size < expected.total) return;
    const body = Buffer.concat(parts).subarray(expected.head);
    const { isOk } = expected;
    const asked = waiting;
    [parts, size, expected, waiting] = [[], 0, null, null];
    if (isOk) asked?.resolve(body);
    else asked?.reject(new Error(`not 200: ${body.toString().slice(0, 300)}`));
  });
  return {
    post: (body) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(`POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      }),
    close: () => socket.destroy(),
  };
}
