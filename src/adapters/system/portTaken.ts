import { createServer } from "node:net";

/** Whether another program listens where this one would. False where that cannot be told, such as on an address that is not of this machine. */
export function isPortTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve("code" in error && error.code === "EADDRINUSE"));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
