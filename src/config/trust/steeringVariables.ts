/**
 * Variables that decide which program or code runs, where it looks for it, or where it connects to. A person who approves an
 * entry has to see their values.
 */
import * as Secrets from "../../domain/Secrets.js"

/** What loaders, interpreters, shells, package managers and version control read. */
const families = new RegExp(
  `^(?:${[
    "(?:LD|DYLD|GLIBC|GCONV|MALLOC)_",
    "NODE_|DENO_|BUN_|TSX?_|ELECTRON_",
    "PYTHON|PIP_|PIPX_|UV_|POETRY_|CONDA_|VIRTUAL_ENV",
    "RUBY|GEM_|BUNDLE_|PERL|PHP|LUA_|ERL_|ELIXIR_|R_",
    "_?JAVA_|JDK_|JRE_|CLASSPATH|MAVEN_|GRADLE_|DOTNET_|CORECLR_|COMPLUS_|MONO_",
    "GO[A-Z]*$|CARGO|RUST",
    "NPM_|PNPM_|YARN_|COREPACK_",
    "GIT_|SSH_|HG|SVN_",
    "BASH|ZSH|ZDOTDIR|ENV$|IFS$|PS4$|PROMPT_COMMAND$|COMSPEC$|LESS(?:OPEN|CLOSE)$",
    "DOCKER_|CONTAINER_|COMPOSE_|KUBECONFIG$",
    "XDG_|TMP(?:DIR)?$|TEMP$|APPDATA$|LOCALAPPDATA$|USERPROFILE$|SYSTEMROOT$",
    "OPENSSL_|SSL_|CURL_|WGETRC$"
  ].join("|")})`,
  "i"
)

/** What names end with by which programs are told the same. */
const endings =
  /(?:PATHS?|PATHEXT|PRELOAD|OPTIONS|SHELLOPTS|FLAGS|EDITOR|PAGER|BROWSER|VISUAL|SHELL|PROXY|ASKPASS)$|(?:^|_)(?:OPTS?|ARGS|ARGV|COMMAND|CMD|EXEC|EXECUTABLE|BIN|BINARY|PROGRAM|INTERPRETER|WRAPPER|LAUNCHER|SCRIPT|HOOKS?|LOADER|MODULES?|PLUGINS?|INIT|STARTUP|RC|RCFILE|DIRS?|HOME|ROOT|FILES?|SOCK|REGISTRY|ENDPOINT|INDEX_URL|BASE_URL)$/i

/** A name that holds one of these words is that of a secret, whatever it begins with. */
const isOfSecret = (name: string): boolean =>
  Secrets.isSensitiveFlag(name) && !/(?:_(?:FILE|PATH|DIR|SOCK)|^GOAUTH)$/i.test(name)

export const isSteering = (name: string): boolean => (families.test(name) || endings.test(name)) && !isOfSecret(name)
