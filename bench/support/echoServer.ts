import { createServer } from "node:http";

// A process that sends every body back, with nothing of ours in between; tells its port to the parent.

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    response.setHeader("Content-Type", "application/json");
    response.end(Buffer.concat(parts));
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address ? address.port : 0);
});
process.on("disconnect", () => process.exit(0));
