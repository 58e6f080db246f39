/** Oldest Node that has what we use: type stripping, `node:sqlite`, `Promise.withResolvers`. */
const OLDEST_NODE = 24;

const running = Number.parseInt(process.versions.node, 10);
if (running < OLDEST_NODE) {
  process.stderr.write(
    `swapnode: this is Node ${process.versions.node}, but Node ${OLDEST_NODE} or newer is needed. ` +
      "Start it with the swapnode command or with npm start: both bring their own Node on Linux x64.\n",
  );
  process.exit(1);
}

// Loaded only now: its modules need features that an older Node refuses with a bare syntax or module error.
const [{ followLifeline, followParent, hasLifeline }, { takeNodeSettings }] = await Promise.all([
  import("./lifeline.ts"),
  import("./nodeSettings.ts"),
]);
takeNodeSettings(process.argv.slice(2), hasLifeline());
followLifeline();
followParent();
const { runCli } = await import("./runCli.ts");
process.exit(await runCli(process.argv.slice(2)));

export {};
