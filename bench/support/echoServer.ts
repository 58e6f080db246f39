import { createServer } from "node:http";

// A process that sends every body back, or as many bytes as the body, a number, says, with nothing of ours in between; tells its port
// to the parent.

/** Most bytes of one reply. */
const MOST_BYTES = 10_000_000;

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    response.setHeader("Content-Type", "application/json");
    const body = Buffer.concat(parts);
    const bytes = Number(body);
    response.end(Number.isSafeInteger(bytes) ? "x".repeat(Math.min(bytes, MOST_BYTES)) : body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address ? address.port : 0);
});
process.on("disconnect", () => process.exit(0));
