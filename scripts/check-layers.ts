import { layerProblems } from "./layers.ts";
import { finish, readSources } from "./sourceFiles.ts";

// Import borders between the folders of src and of the simulator, and rings of imports.
const files = [...readSources("src"), ...readSources("sim")];
finish("layers", layerProblems(files), `${files.length} files`);
