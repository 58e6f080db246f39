import { openInlineDatabase } from "../../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../../src/adapters/sqlite/schema.ts";

// node openStore.ts FILE: brings a database up to date as the node does at its start, and closes it.

const [path = ""] = process.argv.slice(2);
await openInlineDatabase(path, SCHEMA).close();
process.stdout.write("done\n");
