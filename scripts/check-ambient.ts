import { ambientProblems } from "./ambient.ts";
import { finish, readSources } from "./sourceFiles.ts";

// No clock, chance, timer or console but through the ports: what the simulator needs to repeat a run.
const files = [...readSources("src"), ...readSources("sim")];
finish("ambient", ambientProblems(files), `${files.length} files`);
