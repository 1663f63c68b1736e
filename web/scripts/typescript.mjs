// Lets node's test runner read TypeScript: types are taken out on the way in.
import { register } from "node:module";

register("./typescript-hook.mjs", import.meta.url);
