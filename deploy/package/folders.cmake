# Makes the folders of what is installed so that all may read them, whatever the umask is: of a folder on the way
# to a file, install() knows no permissions. Those that are there stay as they are.
set(folders bin lib/caravan share/caravan/helm share/doc/caravan/libraries share/bash-completion/completions share/zsh/vendor-completions
  share/fish/vendor_completions.d)
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
if(prefix MATCHES "/_CPack_Packages/")  # CPack has made the one that goes into a package
  file(CHMOD "${prefix}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
list(TRANSFORM folders PREPEND "${prefix}/")
execute_process(COMMAND sh -c "umask 022 && mkdir -p \"$@\"" sh ${folders} COMMAND_ERROR_IS_FATAL ANY)
