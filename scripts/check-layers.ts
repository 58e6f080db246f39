import { layerProblems } from "./layers.ts";
import { finish, readSources } from "./sourceFiles.ts";

// Import borders between the folders of src, and rings of imports.
const files = readSources("src");
finish("layers", layerProblems(files), `${files.length} files`);
