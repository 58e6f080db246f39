import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { ElectrumServer } from "./electrumServer.ts";

export type ElectrumListenerOptions = {
  /** 0: any free port. */
  readonly port: number;
  /** PEM texts; absent: plain TCP. */
  readonly tls?: { readonly key: string; readonly cert: string };
};

const HOST = "127.0.0.1";
/** A client that reads so little that this many bytes wait for it is dropped. */
const MAX_WAITING_BYTES = 20_000_000;

/** One port of an Electrum server on loopback, plain or with TLS. Several may share a server. */
export class ElectrumListener {
  readonly #electrum: ElectrumServer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #port: number;

  constructor(electrum: ElectrumServer, options: ElectrumListenerOptions) {
    this.#electrum = electrum;
    this.#port = options.port;
    const serve = (socket: Socket): void => this.#serve(socket);
    this.#server = options.tls ? createTlsServer(options.tls, serve) : createServer(serve);
  }

  /** @returns the port it listens on */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, HOST, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  #serve(socket: Socket): void {
    socket.setNoDelay(true);
    const session = this.#electrum.open({
      data: (bytes) => {
        socket.write(bytes);
        if (socket.writableLength > MAX_WAITING_BYTES) socket.destroy();
      },
      closed: () => socket.destroy(),
    });
    if (!session) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("data", (bytes) => session.receive(bytes));
    // A broken connection is the client's affair; what matters is that it ends.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#sockets.delete(socket);
      session.close();
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}
