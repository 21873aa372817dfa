/**
 * Recognizes variables that decide which code runs, where it is found, or where it connects to. A person who approves an
 * entry must see their values.
 */
import * as Secrets from "../../domain/Secrets.js"

/** Variables of loaders, interpreters, shells, package managers and version control. */
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

/** Suffixes of variables by which other programs are controlled in this way. */
const endings =
  /(?:PATHS?|PATHEXT|PRELOAD|OPTIONS|SHELLOPTS|FLAGS|EDITOR|PAGER|BROWSER|VISUAL|SHELL|PROXY|ASKPASS)$|(?:^|_)(?:OPTS?|ARGS|ARGV|COMMAND|CMD|EXEC|EXECUTABLE|BIN|BINARY|PROGRAM|INTERPRETER|WRAPPER|LAUNCHER|SCRIPT|HOOKS?|LOADER|MODULES?|PLUGINS?|INIT|STARTUP|RC|RCFILE|DIRS?|HOME|ROOT|FILES?|SOCK|REGISTRY|ENDPOINT|INDEX_URL|BASE_URL)$/i

/** Whether a name contains a word for a secret. It is then hidden, whatever prefix it has. */
const isOfSecret = (name: string): boolean =>
  Secrets.isSensitiveFlag(name) && !/(?:_(?:FILE|PATH|DIR|SOCK)|^GOAUTH)$/i.test(name)

export const isSteering = (name: string): boolean => (families.test(name) || endings.test(name)) && !isOfSecret(name)
