# Writes a C++ source that holds the files of the page as arrays.
#
#   cmake -DPAGE_DIR=dir -DOUT=file.cc -DFILES=index.html,page.css -P embed.cmake
#
# The arrays are unsigned bytes, so that a text in any language is kept as it is.

string(REPLACE "," ";" files "${FILES}")
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS files)
  file(READ "${PAGE_DIR}/${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REPEAT "0x..," 16 sixteen)
  string(REGEX REPLACE "(${sixteen})" "\\1\n" bytes "${bytes}")
  if(file MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(file MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(file MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(file MATCHES "\\.svg$")
    set(type "image/svg+xml")
  else()
    message(FATAL_ERROR "no content type is known for ${file}")
  endif()
  if(file STREQUAL "index.html")
    set(path "/")
  else()
    set(path "/${file}")
  endif()
  string(APPEND arrays "constexpr unsigned char kFile${count}[] = {\n${bytes}};\n")
  string(APPEND rows "    PageFile{\"${path}\", \"${type}\", text(kFile${count})},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE "${OUT}" "#include \"web/page_files.h\"

#include <array>
#include <cstddef>

namespace weir {
namespace {

${arrays}
template <std::size_t N>
std::string_view text(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

}  // namespace

std::span<const PageFile> page_files() {
  static const std::array kFiles{
${rows}  };
  return kFiles;
}

}  // namespace weir
")
